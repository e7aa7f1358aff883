import { readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeFileStore } from "@colloquy/testing/internal/files/file-store.suite";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startS3, type S3Server } from "./testing/s3-server.ts";
import { s3 } from "./plugin.ts";

const NAME = "default/0199a0e0-0000-7000-8000-000000000000";
const logger = { debug() {}, info() {}, warn() {}, error() {} };

const clock = createSystemClock();
/** Does not wait between attempts. */
const hurried = {
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (ms: number, callback: () => void) => clock.after(ms, callback),
  every: (ms: number, callback: () => void) => clock.every(ms, callback),
  sleep: () => Promise.resolve(),
};

async function* content(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describeFileStore("in a bucket", async () => {
  const server = await startS3();
  const files = await s3.open(s3.settings!.parse(server.settings), { directory: null, clock, logger });
  return { files, dispose: () => server.stop() };
});

describe("a file store in a bucket", () => {
  let server: S3Server;
  let data: string;
  beforeEach(async () => {
    server = await startS3();
    data = await mkdtemp(join(tmpdir(), "colloquy-s3-"));
  });
  afterEach(async () => {
    await server.stop();
    await rm(data, { recursive: true });
  });
  const warnings: object[] = [];
  const open = async (more: object = {}) =>
    await s3.open(s3.settings!.parse({ ...server.settings, ...more }), {
      directory: data,
      clock: hurried,
      logger: { ...logger, warn: (details: object) => void warnings.push(details) },
    });

  it("stores objects under the prefix and the name of the App", async () => {
    const files = await open({ prefix: "chat/files/" });
    await files.put(NAME, content("tea"));
    await files.put(NAME.replace("default", ".."), content("coffee"));
    const [, id] = NAME.split("/");
    expect(await server.keys()).toEqual([`chat/files/default/${id}`, `chat/files/~2E~2E/${id}`]);
  });

  it("keeps nothing on disk, neither of an upload that failed nor of an earlier process", async () => {
    await mkdir(join(data, "spool"));
    await writeFile(join(data, "spool/left"), "tea");
    const before = Date.now() / 1000 - 1_201;
    await utimes(join(data, "spool/left"), before, before);
    const files = await open();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("t");
      throw new Error("broken off");
    }
    await expect(files.put(NAME, broken())).rejects.toThrow("broken off");
    await files.put(NAME, content("tea"));
    expect(readdirSync(join(data, "spool"))).toEqual([]);
    await files.close();
  });

  it("leaves uploads of another process with the same directory alone", async () => {
    const server = await open();
    const { promise: isGoingOn, resolve: goOn } = Promise.withResolvers<void>();
    const isSpooled = () => readdirSync(join(data, "spool")).length > 0;
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("t");
      await isGoingOn;
      yield Buffer.from("ea");
    }
    const uploading = server.put(NAME, slow());
    await expect.poll(isSpooled).toBe(true);
    // As `colloquy export` does.
    const command = await open();
    await command.put(NAME.replace("default", "other"), content("milk"));
    await command.close();
    goOn();
    await uploading;
    await server.put(NAME, content("coffee"));
  });

  it("does not open if the bucket does not exist", async () => {
    const endpoint = new URL("/other", server.settings.endpoint).href;
    await expect(open({ endpoint })).rejects.toThrow(
      `The bucket ${endpoint} does not exist, or refuses the keys. Check files.endpoint`,
    );
  });

  it("opens while the bucket cannot be reached, and fails uploads and downloads with 503", async () => {
    await server.stop();
    const files = await open();
    expect(warnings).toHaveLength(1);
    for (const call of [
      () => files.put(NAME, content("tea")),
      () => files.get(NAME, null),
      () => files.remove(NAME),
    ])
      await expect(call()).rejects.toMatchObject({ status: 503, code: "store_unavailable" });
  });
});

describe("a bucket with faults", () => {
  const stops: (() => void)[] = [];
  afterEach(() => stops.splice(0).forEach((stop) => stop()));
  async function openFaulty(answer: RequestListener) {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stops.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const settings = { endpoint: `http://127.0.0.1:${port}/files`, accessKeyId: "a", secretAccessKey: "b" };
    const files = await s3.open(s3.settings!.parse(settings), { directory: null, clock: hurried, logger });
    stops.push(() => void files.close());
    return files;
  }

  it("that refuses the keys does not open", async () => {
    const opening = openFaulty((_request, response) => void response.writeHead(403).end());
    await expect(opening).rejects.toThrow("does not exist, or refuses the keys");
  });

  it("that asks to slow down gets the same bytes again", async () => {
    const bodies: string[] = [];
    const files = await openFaulty((request, response) => {
      void Array.fromAsync(request).then((chunks) => {
        const isUpload = request.method === "PUT";
        if (isUpload) bodies.push(Buffer.concat(chunks as Buffer[]).toString());
        response.writeHead(isUpload && bodies.length < 3 ? 503 : 200).end();
      });
    });
    await files.put(NAME, content("te", "a"));
    expect(bodies).toEqual(["tea", "tea", "tea"]);
  });

  it("that ignores ranges or breaks off does not pass for the whole file", async () => {
    const files = await openFaulty((request, response) => {
      if (request.method !== "GET") return void response.end();
      response.writeHead(200, { "Content-Length": "100" }).write("tea");
      setImmediate(() => response.destroy());
    });
    await expect(files.get(NAME, { first: 1, last: 2 })).rejects.toMatchObject({ status: 503 });
    const bytes = await files.get(NAME, null);
    await expect(Array.fromAsync(bytes!)).rejects.toThrow();
  });
});
