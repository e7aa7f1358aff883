import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { openLocalStore } from "../wiring/local-store.ts";
import { CheckedKeys, MAX_AGE_MS } from "@colloquy/engine/internal/apps/keys/checked-keys";
import { loadConfig } from "../config/load-config.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { recordedRun } from "./testing/recorded-run.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-cli-keys-"));
  const app = { models: ["demo/assistant"] };
  const config = { apps: { default: app, defi: app, games: app } };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(config));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const dataDirectory = () => join(directory, "data");

const run = (...parameters: readonly string[]) =>
  recordedRun(["keys", ...parameters], {
    loadConfig: () => loadConfig({ environment: {}, workingDirectory: directory }),
    openLocalStore: (need) => openLocalStore({ dataDirectory: dataDirectory(), secretKey: null }, need),
  });

async function json(...parameters: readonly string[]): Promise<Record<string, unknown>> {
  const { code, output, errors } = await run(...parameters, "--json");
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  return JSON.parse(output) as Record<string, unknown>;
}

/** A server beside the commands. `later` makes its key cache expire. */
async function withServer(
  work: (server: {
    opens(key: unknown): Promise<readonly string[] | null>;
    later(): Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const clock = new ManualClock(Date.now());
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: dataDirectory(), clock, onFatal });
  const keys = new CheckedKeys({ store: store.keys, clock, apps: { get: (name) => ({ name }) as never } });
  try {
    await work({
      opens: async (key) => {
        const grant = await keys.check(String(key));
        return grant === null ? null : [...grant.apps];
      },
      // The commands use the system clock, which has advanced a little.
      later: () => clock.advance(MAX_AGE_MS + 60_000),
    });
  } finally {
    await store.close();
  }
}

describe("keys create", () => {
  it("prints the key once; a running server accepts it at once", async () => {
    await withServer(async ({ opens }) => {
      const { code, output, errors } = await run("create", "--app", "defi", "--app", "games");
      expect(code).toBe(0);
      // The key alone, so that a shell can take it: KEY=$(colloquy keys create …).
      expect(output).toMatch(/^clq_[0-9A-Za-z]{16}_[0-9A-Za-z]{36}\n$/);
      const key = output.trimEnd();
      expect(errors).toContain("opens defi, games for chat, read, secrets, and does not expire");
      expect(await opens(key)).toEqual(["defi", "games"]);
      const secret = key.slice(21);
      for (const list of [await run("list"), await run("list", "--json")]) {
        expect(list.output).toContain(key.slice(4, 20));
        expect(list.output).not.toContain(secret);
      }
    });
  });

  it("creates the key of an operator", async () => {
    const { code, errors } = await run("create", "--scope", "admin:read", "--name", "Ada");
    expect(code).toBe(0);
    expect(errors).toContain("It opens the admin API for admin:read, and does not expire.");
    expect(errors).toContain("in the header Authorization: Bearer.");
  });

  it("prints one document with --json", async () => {
    const created = await json("create", "--app", "defi", "--name", " web site ", "--expires", "90d");
    expect(created).toEqual({
      id: expect.any(String) as string,
      name: "web site",
      apps: ["defi"],
      scopes: ["chat", "read", "secrets"],
      status: "good",
      created_at: expect.any(String) as string,
      expires_at: expect.any(String) as string,
      revoked_at: null,
      key: expect.stringMatching(/^clq_/) as string,
    });
    const lifeMs = Date.parse(String(created["expires_at"])) - Date.parse(String(created["created_at"]));
    expect(lifeMs).toBe(90 * 24 * 60 * 60_000);
  });

  it.each([
    [["--app", "nobody"], 'There is no App "nobody". Apps that need a key: defi, games.'],
    [["--app", "default"], "The App default needs no key. Apps that need a key: defi, games."],
    [[], "A key must open at least one App, unless it has scopes of the admin API only."],
    [["--app", "defi", "--scope", "admin:read"], "opens no App. Name none, or add the scope"],
    [["--app", "defi", "--expires", "soon"], "It must be a number and a unit"],
    [["--app", "defi", "--expires", "0d"], "It must be longer than zero."],
    [["--app", "defi", "--name", " "], "It must be 1 to 100 characters"],
    [
      ["--app", "defi", "--scope", "write"],
      "It must be one of chat, read, secrets, act_as, admin:read, admin:write.",
    ],
  ])("exits with 2 and a reason for %j, and creates no key", async (parameters, why) => {
    const { code, output, errors } = await run("create", ...parameters);
    expect({ code, output }).toEqual({ code: 2, output: "" });
    expect(errors).toContain(why);
    expect((await run("list", "--json")).output).toBe("[]\n");
  });

  it("exits with 2 if the configuration is invalid; the other commands do not need it", async () => {
    const { id } = await json("create", "--app", "defi");
    await writeFile(join(directory, "colloquy.config.json"), "{");
    expect((await run("create", "--app", "defi")).code).toBe(2);
    expect(await json("revoke", String(id))).toMatchObject({ status: "revoked" });
  });
});

describe("keys list", () => {
  it("reports that there are none", async () => {
    await withServer(async () => {
      expect(await run("list")).toEqual({
        code: 0,
        output: "There are no keys. Create one with colloquy keys create.\n",
        errors: "",
      });
    });
  });

  it("reports a missing database and creates none", async () => {
    const told = expect.stringMatching(
      /^There is no Colloquy database in \S+data yet\. .*COLLOQUY_DATA_DIR\.\n$/,
    );
    expect(await run("list")).toEqual({
      code: 0,
      output: "There are no keys. Create one with colloquy keys create.\n",
      errors: told,
    });
    expect(await run("list", "--json")).toEqual({ code: 0, output: "[]\n", errors: told });
    expect(existsSync(dataDirectory())).toBe(false);
    await mkdir(dataDirectory());
    expect(await run("list")).toMatchObject({ code: 0, errors: told });
    expect(await readdir(dataDirectory())).toEqual([]);
  });

  it("prints one line for each key, oldest first", async () => {
    const first = await json("create", "--app", "defi", "--name", "one");
    const second = await json("create", "--app", "games", "--scope", "read", "--expires", "1h");
    await run("revoke", String(first["id"]));
    const lines = (await run("list")).output.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^ID +STATUS +APPS +SCOPES +CREATED +EXPIRES +NAME$/);
    expect(lines[1]).toMatch(
      new RegExp(`^${String(first["id"])} +revoked +defi +chat,read,secrets +\\S+ +never +one$`),
    );
    expect(lines[2]).toMatch(new RegExp(`^${String(second["id"])} +good +games +read +\\S+ +\\S+Z$`));
  });
});

describe("keys revoke and rotate", () => {
  it.each(["revoke", "rotate"])("report a missing database and create none: %s", async (command) => {
    expect(await run(command, "4fTzq0LkW1nB7xYc")).toEqual({
      code: 1,
      output: "",
      errors: expect.stringMatching(/^Colloquy: There is no Colloquy database in \S+data yet\. /),
    });
    expect(existsSync(dataDirectory())).toBe(false);
  });
});

describe("keys revoke", () => {
  it("takes effect in a running server", async () => {
    await withServer(async ({ opens, later }) => {
      const { id, key } = await json("create", "--app", "defi");
      expect(await opens(key)).toEqual(["defi"]);
      const { code, output } = await run("revoke", String(id));
      expect(code).toBe(0);
      expect(output).toContain(`The key ${String(id)} is revoked.`);
      await later();
      expect(await opens(key)).toBeNull();
    });
  });

  it("exits with 1 if the key does not exist", async () => {
    await json("create", "--app", "defi");
    const { code, errors } = await run("revoke", "nobody");
    expect({ code, errors }).toEqual({
      code: 1,
      errors: "Colloquy: There is no key with the id nobody. colloquy keys list shows them all.\n",
    });
  });
});

describe("keys rotate", () => {
  it("prints the new key; the old one stays valid for the overlap", async () => {
    await withServer(async ({ opens, later }) => {
      const old = await json("create", "--app", "defi");
      const next = await json("rotate", String(old["id"]), "--overlap", "1h");
      for (const { key } of [old, next]) expect(await opens(key)).toEqual(["defi"]);
      const listed = (await json("list")) as unknown as readonly Record<string, unknown>[];
      const endsInMs = Date.parse(String(listed[0]?.["expires_at"])) - Date.parse(String(next["created_at"]));
      expect(endsInMs).toBeGreaterThanOrEqual(60 * 60_000);
      expect(endsInMs).toBeLessThan(61 * 60_000);
      const last = await json("rotate", String(next["id"]), "--overlap", "0s");
      await later();
      expect(await opens(next["key"])).toBeNull();
      expect(await opens(last["key"])).toEqual(["defi"]);
    });
  });
});
