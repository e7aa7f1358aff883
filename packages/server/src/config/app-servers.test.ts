// MCP servers and OpenAPI services of an App.

import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import { loadConfig } from "./load-config.ts";
import { useAppConfigs } from "./testing/app-configs.ts";

const { inside, app, problems, warnings } = useAppConfigs();

const PETS = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1" },
  servers: [{ url: "https://pets.test" }],
  paths: { "/pets": { get: { operationId: "listPets", responses: {} } } },
};

/** Returns the settings of an App's sources, by label. */
function sectionsOf({ sources }: AppSettings["tools"]): object {
  return Object.fromEntries(sources.map(({ label, settings }) => [label, settings.reveal()]));
}

describe("MCP servers", () => {
  it("accepts a URL or a command and hides values that may contain keys", async () => {
    const { tools } = await app(
      {
        secrets: [{ name: "TOKEN", description: "x" }],
        mcp: {
          web: {
            url: "http://10.0.0.5:3000/mcp?tenant=a",
            headers: { Authorization: "Bearer {{ secret.TOKEN }}", "X-Key": "k-{{env.MY_KEY}}" },
          },
          files: { command: "npx", args: ["server", "/tmp"], env: { KEY: "{{env.MY_KEY}}", PLAIN: "{x}" } },
          bare: { command: "mcp" },
        },
      },
      { MY_KEY: "sk-1" },
    );
    expect(sectionsOf(tools)).toEqual({
      "mcp web": {
        url: "http://10.0.0.5:3000/mcp?tenant=a",
        headers: { Authorization: "Bearer {{secret.TOKEN}}", "X-Key": "k-sk-1" },
      },
      "mcp files": { command: "npx", args: ["server", "/tmp"], env: { KEY: "sk-1", PLAIN: "{x}" } },
      "mcp bare": { command: "mcp" },
    });
    for (const print of [inspect(tools, { depth: null, showHidden: true }), JSON.stringify(tools)]) {
      expect(print).not.toContain("sk-1");
    }
  });

  it("reports each invalid setting with its location and without keys", async () => {
    const found = await problems(
      {
        secrets: [{ name: "TOKEN", description: "x" }],
        mcp: {
          neither: {},
          both: { url: "http://x.test", command: "npx" },
          address: { url: "http://user:password@x.test/", header: {} },
          scheme: { url: "ftp://x.test" },
          command: { command: " ", args: ["{env.MY_KEY}"], environment: {} },
          text: "https://x.test",
          "a/b": { url: "https://x.test" },
          keys: {
            url: "https://x.test/{{env.MY_KEY}}",
            headers: {
              A: "{{env.NOT_SET}}",
              B: "{{secret.TOKEM}}",
              C: "{{MY_KEY}}",
              D: "{{env.BROKEN}}",
              "E F": "x",
              G: "{{sk-live-1}}",
              H: "{{env.toString}}",
              I: "Bearer {{secret.TOKEN}",
              J: "Bearer {secret.TOKEN}",
              K: "{{secret.TOKEN}} and secret.TOKEN }}",
            },
          },
          process: { command: "npx", args: ["--key={{env.MY_KEY}}"], env: { A: "{{secret.TOKEN}}" } },
        },
      },
      { MY_KEY: "sk-1", BROKEN: "sk-2\nsk-3" },
    );
    const url = "must be an http or https URL without user name and password; put keys in headers.";
    const none =
      "has braces {{…}} around something that is not a placeholder. Use {{env.NAME}} or {{secret.NAME}}.";
    const braces = "has a placeholder with braces that do not match. Write {{env.NAME}} or {{secret.NAME}}.";
    const placeholder = "has a placeholder, but placeholders work only in headers, env and rpcURL.";
    expect(found.toSorted()).toEqual(
      [
        'mcp.neither: needs "url" or "command".',
        "mcp.both.command: is not a known setting. Known here: url, headers.",
        `mcp.address.url: ${url}`,
        'mcp.address.header: is not a known setting. Did you mean "headers"?',
        `mcp.scheme.url: ${url}`,
        "mcp.command.command: must not be blank.",
        "mcp.command.environment: is not a known setting. Known here: command, args, env.",
        "mcp.text: must be an object, not text.",
        'mcp["a/b"]: must be a name of at most 32 letters, digits, _ and -.',
        `mcp.keys.url: ${placeholder}`,
        "mcp.keys.headers.A: {{env.NOT_SET}}: the environment variable NOT_SET is not set.",
        'mcp.keys.headers.B: {{secret.TOKEM}} is not a slot in this App\'s "secrets". Did you mean "TOKEN"?',
        `mcp.keys.headers.C: ${none}`,
        `mcp.keys.headers.G: ${none}`,
        "mcp.keys.headers.H: {{env.toString}}: the environment variable toString is not set.",
        `mcp.keys.headers.I: ${braces}`,
        `mcp.keys.headers.J: ${braces}`,
        `mcp.keys.headers.K: ${braces}`,
        "mcp.keys.headers.D: after filling in the placeholders, must be the value of a header field: one line of Latin-1 text.",
        'mcp.keys.headers["E F"]: must be the name of a header field.',
        `mcp.command.args[0]: ${placeholder}`,
        `mcp.process.args[0]: ${placeholder}`,
        "mcp.process.env.A: {{secret.TOKEN}} works only in the headers of an App's mcp and openapi servers.",
      ].toSorted(),
    );
  });

  it("does not report placeholders of secrets while the secrets section is invalid", async () => {
    expect(
      await problems({
        secrets: "TOKEN",
        mcp: { a: { url: "http://x.test", headers: { A: "{{secret.X}}" } } },
      }),
    ).toEqual(["secrets: must be a list, not text."]);
  });

  it("does not warn of variables that placeholders refer to", async () => {
    const section = { mcp: { a: { command: "x", env: { A: "{{env.COLLOQUY_MINE}}" } } } };
    expect(await warnings(section, { COLLOQUY_MINE: "1" })).toEqual([]);
  });
});

describe("OpenAPI services", () => {
  it("accepts a document beside the file or at a URL", async () => {
    await writeFile(inside("pets.yaml"), JSON.stringify(PETS));
    const { tools } = await app({
      secrets: [{ name: "KEY", description: "x" }],
      openapi: {
        pets: { document: "./pets.yaml", operations: ["listPets"], headers: { "X-Key": "{{secret.KEY}}" } },
        shops: { document: "https://shops.test/openapi.json?v=3", baseURL: "http://127.0.0.1:4000" },
      },
    });
    expect(sectionsOf(tools)).toEqual({
      "openapi pets": {
        document: "./pets.yaml",
        operations: ["listPets"],
        headers: { "X-Key": "{{secret.KEY}}" },
      },
      "openapi shops": {
        document: "https://shops.test/openapi.json?v=3",
        baseURL: "http://127.0.0.1:4000",
      },
    });
  });

  it("resolves documents relative to the directory of the configuration file", async () => {
    const content = { apps: { defi: { openapi: { here: { document: "pets.json" } } } } };
    await writeFile(inside("pets.json"), JSON.stringify(PETS));
    await writeFile(inside("colloquy.config.json"), JSON.stringify(content));
    const environment = { COLLOQUY_CONFIG: inside("colloquy.config.json") };
    const result = await loadConfig({ environment, workingDirectory: tmpdir() });
    expect(result.ok && result.config.apps["defi"]?.tools.sources[0]?.directory).toBe(inside("."));
    expect([...result.files.keys()]).toContain(inside("pets.json"));
  });

  it("rejects a name that begins with the name of another server, because tool names could collide", async () => {
    const server = { url: "https://x.test" };
    const service = { document: "http://x.test" };
    const clash = (name: string) =>
      `begins with the name of the server "${name}" and "_", so the names of their tools could be mixed up. Choose another one.`;
    const mcp = { pay_eu: server, pay: server, payment: server, constructor: server };
    expect(await problems({ mcp, openapi: { pay_us: service, payment_a: service } })).toEqual([
      `mcp.pay_eu: ${clash("pay")}`,
      `openapi.pay_us: ${clash("pay")}`,
      `openapi.payment_a: ${clash("payment")}`,
    ]);
    expect(await problems({ mcp: { pay: server, "pay-eu": server }, openapi: { payer: service } })).toEqual(
      [],
    );
  });

  it("reports each invalid setting with its location", async () => {
    const found = await problems({
      mcp: { twice: { command: "x" } },
      openapi: {
        gone: { document: "gone.yaml" },
        scheme: { document: "file:///etc/passwd" },
        twice: { document: "http://x.test", operations: ["a", "b", "a"] },
        base: { document: "http://x.test", baseURL: "http://x.test?key=1", operations: [] },
        none: {},
      },
    });
    expect(found.toSorted()).toEqual(
      [
        `openapi.gone.document: There is no file at ${inside("gone.yaml")}.`,
        "openapi.scheme.document: must be a path, or an http or https URL without user name and password.",
        'openapi.twice.operations[2]: "a" is in the list already.',
        "openapi.twice: has the name of mcp.twice, so the names of their tools would be mixed up. Choose another one.",
        "openapi.base.baseURL: must be an http or https URL without user name, password and query.",
        "openapi.base.operations: must have at least 1 entry.",
        "openapi.none.document: must be text, not absent.",
      ].toSorted(),
    );
  });
});
