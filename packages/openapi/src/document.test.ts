import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { createOutbound, type Outbound } from "@colloquy/engine/internal/tools/outbound/outbound";
import {
  startTestServer,
  type TestServer,
} from "@colloquy/engine/internal/tools/outbound/testing/test-servers";
import { baseUrl, isElsewhere, readDocument } from "./document.ts";

const paths = { "/a": { get: { operationId: "a", responses: {} } } };
const info = { title: "Test", version: "1" };

let folder: string;
let outbound: Outbound;
let servers: TestServer[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openapi-"));
  outbound = createOutbound({ clock: new ManualClock() });
  servers = [];
});

afterEach(async () => {
  await outbound.close();
  await Promise.all(servers.map((server) => server.stop()));
  await rm(folder, { recursive: true });
});

async function fileWith(text: string, name = "document"): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function start(answer: Parameters<typeof startTestServer>[1]): Promise<[TestServer, string]> {
  const server = await startTestServer("127.0.0.1", answer);
  servers.push(server);
  return [server, `http://127.0.0.1:${server.port}`];
}

const read = (source: string, signal = new AbortController().signal) =>
  readDocument(source, outbound, signal);

describe("readDocument", () => {
  it.each(["3.0.0", "3.0.4", "3.1.0", "3.1.1"])("reads version %s from JSON and YAML", async (openapi) => {
    const document = { openapi, info, paths };
    const yaml = `openapi: ${openapi}\ninfo:\n  title: Test\n  version: "1"\npaths:\n  /a:\n    get:\n      operationId: a\n      responses: {}\n`;
    for (const text of [
      JSON.stringify(document),
      `\n ${JSON.stringify(document, null, 2)}`,
      yaml,
      `# note\n${yaml}`,
    ]) {
      expect(await read(await fileWith(text))).toEqual({ content: document, location: null });
    }
  });

  it("fetches a configured URL, also from this machine", async () => {
    const document = { openapi: "3.1.0", info, paths };
    const [server, url] = await start((_, response) => response.end(JSON.stringify(document)));
    const found = await read(`${url}/openapi.json`);
    expect(found).toEqual({ content: document, location: new URL(`${url}/openapi.json`) });
    expect(server.seen[0]?.headers.accept).toContain("application/json");
  });

  it.each<[string, string, RegExp]>([
    [
      "an older version",
      '{"swagger":"2.0","info":{},"paths":{}}',
      /not an OpenAPI document of version 3\.0 or 3\.1/,
    ],
    ["a newer version", '{"openapi":"4.0.0","info":{},"paths":{}}', /Unsupported OpenAPI version: 4\.0\.0/],
    ["another JSON object", '{"a":1}', /not a valid Openapi API definition/],
    ["an array", "- a\n- b", /./],
    ["an empty file", "", /./],
    ["broken JSON", '{"openapi":"3.1.0",', /./],
    ["broken YAML", "openapi: 3.1.0\n\tpaths: [", /./],
  ])("rejects %s with a reason", async (_, text, reason) => {
    await expect(read(await fileWith(text))).rejects.toThrow(reason);
  });

  it("rejects a missing, invalid or oversized source", async () => {
    const large = await fileWith("{");
    await truncate(large, 64 * 1_024 * 1_024 + 1);
    await expect(read(join(folder, "none.json"))).rejects.toThrow("ENOENT");
    await expect(read(folder)).rejects.toThrow("It is not a file.");
    await expect(read(large)).rejects.toThrow("It is larger than");
    const [, missing] = await start((_, response) => response.writeHead(404).end("no"));
    await expect(read(missing)).rejects.toThrow(/answered 404 instead of the document/);
    const [, flood] = await start((_, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536, " ")));
        response.once("drain", more);
      };
      more();
    });
    await expect(read(flood)).rejects.toThrow("is larger than");
  });

  it("resolves no references to other files and servers", async () => {
    const [server, url] = await start((_, response) => response.end("{}"));
    const other = await fileWith('{"type":"string"}', "other.json");
    const schema = { oneOf: [{ $ref: `${url}/schema.json` }, { $ref: other }, { $ref: "other.json#/a" }] };
    const document = { openapi: "3.1.0", info, paths, components: { schemas: { A: schema } } };
    const { content } = await read(await fileWith(JSON.stringify(document)));
    expect(content["components"]).toEqual({ schemas: { A: schema } });
    expect(server.connections()).toBe(0);
  });

  it("creates only data from YAML", async () => {
    for (const tag of ["!!js/function 'function () {}'", "!!python/object/apply:os.system ['true']"]) {
      await expect(
        read(await fileWith(`openapi: 3.1.0\ninfo: {}\npaths: {}\nx: ${tag}\n`)),
      ).rejects.toThrow();
    }
  });

  it("stops reading when its signal is aborted", async () => {
    const stop = new AbortController();
    const arrived = Promise.withResolvers<void>();
    const [, url] = await start(() => arrived.resolve());
    const reading = read(url, stop.signal);
    await arrived.promise;
    stop.abort(new Error("The service is stopping."));
    await expect(reading).rejects.toThrow("The service is stopping.");
  });
});

describe("baseUrl", () => {
  const location = new URL("https://api.test/docs/openapi.json");
  const of = (servers: unknown, from: URL | null = location, configured: string | null = null): string => {
    const content = servers === undefined ? {} : { servers: servers as never };
    return baseUrl(configured, { content, location: from }).href;
  };

  it("returns the configured URL", () => {
    expect(of([{ url: "https://elsewhere.test" }], location, "http://10.0.0.1/v2")).toBe(
      "http://10.0.0.1/v2",
    );
  });

  it("returns the document's first server, relative to the document", () => {
    expect(of([{ url: "https://api.test/v1" }, { url: "https://b.test" }])).toBe("https://api.test/v1");
    expect(of([{ url: "/v1" }])).toBe("https://api.test/v1");
    expect(of([{ url: "v1" }])).toBe("https://api.test/docs/v1");
    expect(of([])).toBe("https://api.test/");
    expect(of(undefined)).toBe("https://api.test/");
    const variables = { host: { default: "api.test" }, version: { default: "v3" } };
    expect(of([{ url: "https://{host}/{version}", variables }])).toBe("https://api.test/v3");
    expect(of([{ url: "https://b.test/v1" }], null)).toBe("https://b.test/v1");
  });

  it("requires a configured URL if a file names no valid server", () => {
    for (const servers of [undefined, [], [{ url: "/v1" }], [{ url: "ftp://b.test" }], [{}], ["text"]]) {
      expect(() => of(servers, null)).toThrow('Set "baseURL".');
    }
  });

  it("rejects a server of another origin than a fetched document", () => {
    for (const url of [
      "https://evil.test",
      "http://api.test",
      "https://api.test:8443",
      "//evil.test",
      "https://api.test@evil.test",
    ]) {
      expect(() => of([{ url }])).toThrow('not the origin of the document. Set "baseURL"');
    }
  });

  it("reports operations of other servers through isElsewhere", () => {
    const base = new URL("https://api.test/v1/");
    expect(isElsewhere([], base, location)).toBe(false);
    expect(isElsewhere([{ url: "https://api.test/v1" }], base, location)).toBe(false);
    expect(isElsewhere([{ url: "https://b.test" }, { url: "/v1" }], base, location)).toBe(false);
    expect(isElsewhere([{ url: "https://upload.test/v1" }], base, location)).toBe(true);
    expect(isElsewhere([{ url: "/v2" }], base, null)).toBe(true);
  });
});
