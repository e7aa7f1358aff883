// The sections `backend` and `transport`, and the environment variables in place of them.

import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { readBackend } from "./load-config.ts";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { inside, write, loaded, problems, warnings } = useConfigDirectory();
const MODULES = join(import.meta.dirname, "../../../../node_modules");
const URL = "postgres://user:hidden@127.0.0.1/colloquy";
const NATS = "nats://node:hidden@127.0.0.1";

beforeEach(async () => {
  await mkdir(inside("node_modules"));
  for (const name of ["@colloquy", "zod"])
    await symlink(join(MODULES, name), join(inside("node_modules"), name));
  await write("package.json", { type: "module" });
});

const config = (content: object) => write("colloquy.config.json", content);

/** A plugin built without this copy of `@colloquy/engine`. */
const OWN_COPY = `{
  kind: "colloquy/backend", name: "notes", version: "1.2.3",
  settings: z.strictObject({ folder: z.string().describe("Folder.") }),
  open: () => { throw new Error("Not in this test"); },
}`;
const notes = (plugin: string) => write("notes.js", `import { z } from "zod";\nexport default ${plugin};`);

describe("the section backend", () => {
  it("defaults to SQLite for a single process", async () => {
    const { backend, transport } = await loaded();
    expect([backend.plugin.name, backend.plugin.nodes, transport]).toEqual(["sqlite", undefined, null]);
  });

  it("accepts placeholders, and never prints their values", async () => {
    await config({
      backend: { kind: "postgresql", url: "{{env.DATABASE}}" },
      transport: { kind: "nats", url: "{{env.BUS}}" },
    });
    const found = await loaded({ DATABASE: URL, BUS: NATS });
    expect(found.backend.settings.reveal()).toEqual({ url: URL });
    expect(found.transport?.settings.reveal()).toEqual({ url: NATS });
    expect(JSON.stringify(found) + inspect(found, { depth: null })).not.toContain("hidden@");
    expect(await problems({ DATABASE: "mysql://user:hidden@x", BUS: NATS })).toEqual([
      expect.stringMatching(
        /^backend\.url: after filling in the placeholders, must be the URL of a PostgreSQL/,
      ),
    ]);
  });

  it.each([
    [
      { backend: { kind: "postgres", url: URL } },
      /^backend\.kind: "postgres" is not a backend\. Did you mean "postgresql"\?/,
    ],
    [
      { backend: { kind: "postgresql", uri: URL } },
      /^backend\.uri: is not a known setting\. Did you mean "url"\?/m,
    ],
    [{ backend: { kind: "sqlite", url: URL } }, /^backend\.url: is not a known setting/],
    [{ backend: { url: URL } }, /^backend/],
    [
      { transport: { kind: "nats", url: NATS } },
      /^transport: connects nodes that share a store, but the backend "sqlite" cannot/,
    ],
  ])("reports %j", async (content, problem) => {
    await config(content);
    expect((await problems()).join("\n")).toMatch(problem);
  });

  it("rejects a variable together with its section, because one of them would be ignored", async () => {
    await config({ backend: { kind: "sqlite" } });
    expect(await problems({ COLLOQUY_DATABASE_URL: URL })).toEqual([
      "COLLOQUY_DATABASE_URL: is set, and the configuration file has the section backend. Remove one of them.",
    ]);
  });

  it("warns about an unencrypted connection, and names the setting", async () => {
    const far = "postgres://user:hidden@db.test/colloquy";
    expect(await warnings({ COLLOQUY_DATABASE_URL: far })).toEqual([
      expect.stringMatching(/^COLLOQUY_DATABASE_URL names another machine/),
    ]);
    await config({ backend: { kind: "postgresql", url: "{{env.DATABASE}}" } });
    expect(await warnings({ DATABASE: far })).toEqual([expect.stringMatching(/^backend\.url names another/)]);
    expect(await warnings({ DATABASE: far, PGSSLMODE: "require" })).toEqual([]);
  });
});

describe("a backend of a plugin", () => {
  it("may use another copy of the engine", async () => {
    await notes(OWN_COPY);
    await config({ plugins: ["./notes.js"], backend: { kind: "notes", folder: "here" } });
    const { backend } = await loaded();
    expect([backend.plugin.name, backend.settings.reveal()]).toEqual(["notes", { folder: "here" }]);
  });

  it("may be an ES module compiled to CommonJS", async () => {
    const code = `const { z } = require("zod"); exports.__esModule = true; exports.default = ${OWN_COPY};`;
    await write("notes.cjs", code);
    await config({ plugins: ["./notes.cjs"], backend: { kind: "notes", folder: "here" } });
    expect((await loaded()).backend.plugin.name).toBe("notes");
  });

  it.each([
    [OWN_COPY.replace("open:", "opened:"), /plugins\[0\]: The plugin "notes" is incomplete/],
    [
      OWN_COPY.replace('version: "1.2.3"', 'version: "1.2.3", needs: { colloquy: "99.0.0" }'),
      /needs Colloquy 99\.0\.0 or later/,
    ],
    [
      OWN_COPY.replace('z.strictObject({ folder: z.string().describe("Folder.") })', "{ parse: () => ({}) }"),
      /not a schema of zod 4/,
    ],
    [OWN_COPY.replace('name: "notes"', 'name: "sqlite"'), /"sqlite" is the name of two plugins/],
    [
      OWN_COPY.replace("open:", "nodes: { identity: async () => 'x' }, open:"),
      /^transport: is missing: the backend "notes" carries no notifications/m,
    ],
  ])("is rejected at startup: %#", async (plugin, problem) => {
    await notes(plugin);
    await config({ plugins: ["./notes.js"], backend: { kind: "notes", folder: "here" } });
    expect((await problems()).join("\n")).toMatch(problem);
  });

  it("names the missing package if its driver is not installed", async () => {
    await write("notes.js", 'import "acme-driver";\nexport default null;');
    await config({ plugins: ["./notes.js"], backend: { kind: "notes", folder: "here" } });
    expect((await problems()).join("\n")).toMatch(/acme-driver/);
  });
});

describe("the backend of a command", () => {
  const backendOf = async (environment = {}) => {
    const { backend, problems: found } = await readBackend(environment, inside("."));
    return { name: backend.plugin.name, settings: backend.settings.reveal(), found };
  };

  it("is read from the file even if other sections are invalid", async () => {
    await notes(OWN_COPY);
    await config({ plugins: ["./notes.js"], apps: 5, backend: { kind: "notes", folder: "here" } });
    expect(await backendOf()).toEqual({ name: "notes", settings: { folder: "here" }, found: [] });
  });

  it("is taken from the environment without regard to the file", async () => {
    await write("colloquy.config.json", "{ nonsense");
    expect(await backendOf({ COLLOQUY_DATABASE_URL: URL })).toMatchObject({ name: "postgresql", found: [] });
  });

  it("defaults to SQLite if the file cannot be read, so that a key can be revoked", async () => {
    await write("colloquy.config.json", "{ nonsense");
    expect(await backendOf()).toMatchObject({ name: "sqlite", found: [] });
  });

  it("is a problem if an unreadable file may name one", async () => {
    await write("colloquy.config.json", '{ "backend": { "kind": "postgresql" }, nonsense');
    expect((await backendOf()).found).toMatchObject([{ source: "colloquy.config.json" }]);
    expect((await backendOf({ COLLOQUY_DATABASE_URL: URL })).found).toEqual([]);
  });

  it("is a problem if its section is invalid, so that no other database is changed", async () => {
    await config({ backend: { kind: "postgresql", url: "mysql://x" } });
    expect((await backendOf()).found).toMatchObject([{ location: "backend.url" }]);
    await config({ plugins: ["./missing.js"], backend: { kind: "notes" } });
    expect((await backendOf()).found.map(({ location }) => location)).toContain("plugins[0]");
  });
});
