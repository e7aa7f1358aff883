import { chmod, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isWithoutNats, NatsServer } from "../../test/nats-server.ts";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import { openLocalStore } from "../wiring/local-store.ts";
import { recordedRun } from "../cli/testing/recorded-run.ts";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import { loadConfig } from "../config/load-config.ts";
import { UNFINISHED_MOVE } from "@colloquy/engine/internal/store/migrations";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { refusingToStart } from "@colloquy/postgres/internal/server-check";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { ManualClock } from "../../test/manual-clock.ts";
import { spaceFinding } from "./examine.ts";
import { findingsOf } from "@colloquy/postgres/internal/inspection";
import type { Finding } from "@colloquy/engine/internal/core/finding";

const withoutNats = await isWithoutNats();
let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-doctor-"));
});
afterEach(() => rm(directory, { recursive: true }));

const run = (environment: Environment, ...parameters: readonly string[]) =>
  recordedRun(["doctor", ...parameters], {
    loadConfig: () => loadConfig({ environment, workingDirectory: directory }),
  });

/** Groups findings by their part. */
async function examined(environment: Environment = {}) {
  const { code, output } = await run(environment, "--json");
  const { ok, findings } = JSON.parse(output) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  const by = (about: string) => findings.filter((finding) => finding.about === about);
  return { ok, findings, by, text: output };
}

const data = () => join(directory, "data");
const onFatal = (error: Error): never => {
  throw error;
};
const openServer = () => openSqliteStore({ directory: data(), clock: new ManualClock(), onFatal });

describe("doctor on tool servers", () => {
  it("warns of a tool server that does not start, and reports the number of tools of another", async () => {
    const pets = {
      openapi: "3.1.0",
      info: { title: "Pets", version: "1" },
      servers: [{ url: "http://127.0.0.1:9" }],
      paths: { "/pets": { get: { operationId: "listPets", responses: { 200: { description: "Pets" } } } } },
    };
    await writeFile(join(directory, "pets.json"), JSON.stringify(pets));
    const app = {
      mcp: { weather: { command: join(directory, "none") } },
      openapi: { pets: { document: "pets.json" } },
    };
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify({ apps: { default: app } }));
    const { ok, by } = await examined();
    expect(ok).toBe(true);
    expect(by("tools")).toEqual([
      expect.objectContaining({
        health: "warning",
        found: expect.stringMatching(/^App "default", mcp weather: ./),
        mend: expect.stringContaining("needs a server, start it"),
      }),
      expect.objectContaining({
        health: "ok",
        found: 'App "default", openapi pets: it lists its tools (1).',
        details: ["pets_listPets: effect read, approval never"],
      }),
    ]);
  });
});

describe("doctor on a plugin", () => {
  it("warns that its source fails, with the reason", async () => {
    await symlink(join(import.meta.dirname, "../../../../node_modules"), join(directory, "node_modules"));
    await writeFile(
      join(directory, "colloquy.config.mjs"),
      `import { defineToolSource } from "@colloquy/engine";
      import { z } from "zod";
      const create = () => ({ tools: () => Promise.reject(new Error("The key has expired")) });
      const weather = defineToolSource({ name: "weather", version: "1.0.0", settings: z.object({}), create });
      export default { plugins: [weather], apps: { default: { weather: {} } } };`,
    );
    const { by } = await examined();
    expect(by("tools")).toMatchObject([
      {
        health: "warning",
        found: 'App "default", weather: Their source has failed: The key has expired.',
      },
    ]);
  });
});

describe("doctor on SQLite", () => {
  it("reports no problem before the first start and creates nothing", async () => {
    const { ok, findings } = await examined();
    expect(ok).toBe(true);
    expect(findings.map(({ about, health }) => [about, health])).toEqual([
      ["configuration", "ok"],
      ["data directory", "ok"],
      ["database", "ok"],
      ["bus", "skipped"],
      ["keys", "ok"],
    ]);
    expect(await readdir(directory)).toEqual([]);
  });

  it("reports no problem beside a running server, and mentions the server", async () => {
    const server = await openServer();
    const { ok, by } = await examined();
    await server.close();
    expect(ok).toBe(true);
    expect(by("database")).toMatchObject([
      { found: expect.stringContaining("A server is running") as string },
    ]);
    const { output } = await run({});
    expect(output).toMatch(/^ok {7}configuration {3}It is valid/);
    expect(output).toContain("No server is running");
  });

  it("reports every configuration problem and skips the other checks", async () => {
    await writeFile(
      join(directory, "colloquy.config.json"),
      '{"apps":{"default":{"models":["x"]}},"colour":1}',
    );
    const { ok, by } = await examined();
    expect(ok).toBe(false);
    expect(by("configuration").length).toBeGreaterThan(1);
    expect(by("configuration").every(({ health, mend }) => health === "broken" && mend !== null)).toBe(true);
    expect(by("database")).toMatchObject([{ health: "skipped" }]);
  });

  it("reports a data directory that is not writable", async () => {
    await writeFile(data(), "a file in its place");
    const { ok, by } = await examined();
    expect(ok).toBe(false);
    expect(by("data directory")).toMatchObject([
      { health: "broken", mend: expect.stringContaining("COLLOQUY_DATA_DIR") as string },
    ]);
  });

  it.each([
    [10, "broken"],
    [500, "warning"],
    [5000, "ok"],
  ])("rates %i MiB of free space as %s", (free, health) => {
    expect(spaceFinding("/data", free * 1024 * 1024)).toMatchObject({ health });
  });

  it.each([
    [99, /newer Colloquy/],
    [UNFINISHED_MOVE, /same colloquy migrate again/],
  ])("reports unsupported schema version %i", async (version, mend) => {
    await (await openServer()).close();
    const database = new DatabaseSync(join(data(), "colloquy.db"));
    database.exec(`INSERT INTO schema_migrations VALUES (${version}, 'x', 0)`);
    database.close();
    const { ok, by } = await examined();
    expect(ok).toBe(false);
    expect(by("database")).toMatchObject([{ health: "broken", mend: expect.stringMatching(mend) as string }]);
  });

  it("reports a file that is not a database", async () => {
    await (await openServer()).close();
    for (const file of await readdir(data())) await rm(join(data(), file));
    await writeFile(join(data(), "colloquy.db"), "x".repeat(5000));
    expect((await examined()).by("database")).toMatchObject([
      { health: "broken", found: expect.stringContaining("not a database") as string },
    ]);
  });

  it("reports a missing master key, and one that other users can read", async () => {
    const { openVault } = await import("@colloquy/engine/internal/wiring/master-keys");
    const settings = { dataDirectory: data(), secretKey: null };
    const local = await openLocalStore(settings);
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    await openVault(settings, local.store.secrets, logger).set("defi", "web", { A: "hunter22" });
    await local.close();
    expect((await examined()).by("keys")).toMatchObject([
      { health: "ok", found: expect.stringContaining("1 secret can be decrypted") as string },
    ]);
    await chmod(join(data(), "secret.key"), 0o644);
    expect((await examined()).by("keys")).toMatchObject([{ health: "warning" }]);
    await writeFile(join(data(), "secret.key"), `${"0f1e".repeat(16)}\n`, { mode: 0o600 });
    const { ok, by, text } = await examined();
    expect(ok).toBe(false);
    expect(by("keys")).toMatchObject([
      { health: "broken", mend: expect.stringContaining("Put the old keys back") as string },
    ]);
    expect(text).not.toContain("0f1e0f1e");
  });
});

describe.skipIf(await isWithoutPostgres())("doctor on PostgreSQL", () => {
  const server = usePostgres();

  const url = async () => server.url(await server.createDatabase());
  const withPassword = (text: string) => text.replace("@", ":pass-word@");

  it("reports no problem, even for an empty database, and changes nothing", async () => {
    const database = await server.createDatabase();
    const { ok, findings, text } = await examined({
      COLLOQUY_DATABASE_URL: withPassword(server.url(database)),
    });
    expect({ ok, wrong: findings.filter(({ mend }) => mend !== null) }).toEqual({ ok: true, wrong: [] });
    expect(findings.map(({ about, health }) => [about, health])).toEqual([
      ["configuration", "ok"],
      ["data directory", "skipped"],
      ["database", "ok"],
      ["clock", "ok"],
      ["bus", "ok"],
      ["keys", "ok"],
    ]);
    expect(text).not.toContain("pass-word");
    expect(await server.query(database, "SELECT relname FROM pg_class WHERE oid >= 16384")).toEqual([]);
  });

  it("reports an unreachable PostgreSQL or NATS server without its password", async () => {
    // Run both at once, because each attempt takes seconds.
    const [database, bus] = await Promise.all([
      examined({ COLLOQUY_DATABASE_URL: "postgres://colloquy:pass-word@127.0.0.1:1/none" }),
      examined({
        COLLOQUY_DATABASE_URL: await url(),
        COLLOQUY_NATS_URL: "nats://node:pass-word@127.0.0.1:1",
      }),
    ]);
    expect(database.ok).toBe(false);
    expect(database.by("database")).toMatchObject([
      { health: "broken", found: expect.stringContaining("ECONNREFUSED") as string },
    ]);
    expect(database.by("bus")).toMatchObject([{ health: "broken" }]);
    expect(database.by("keys")).toMatchObject([{ health: "skipped" }]);
    expect(database.text).not.toContain("pass-word");
    expect(bus.ok).toBe(false);
    expect(bus.by("bus")).toMatchObject([
      { health: "broken", mend: expect.stringContaining("COLLOQUY_NATS_URL") as string },
    ]);
    expect(bus.text).not.toContain("pass-word");
  });

  it("reports a database with read-only transactions", async () => {
    const database = await server.createDatabase();
    await (await openPostgresStore({ url: server.url(database) })).close();
    await server.query(database, `ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    const { ok, by } = await examined({ COLLOQUY_DATABASE_URL: server.url(database) });
    expect(ok).toBe(false);
    expect(by("database")).toMatchObject([
      {
        health: "broken",
        found: expect.stringContaining("accepts no writes: its transactions are read-only") as string,
        mend: expect.stringContaining("default_transaction_read_only = off") as string,
      },
    ]);
  });

  it.each([
    ["53100", /has no room for a write: .*No space left/, /Free space .* 507/],
    ["55000", /rejected a write: .*No space left/, /log of its server/],
  ])("reports a database that rejects a write with %s", async (code, found, mend) => {
    const database = await server.createDatabase();
    await server.query(
      database,
      `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
         RAISE 'could not extend file: No space left on device' USING ERRCODE = '${code}'; END $$;
       CREATE EVENT TRIGGER full_disk ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refuse()`,
    );
    const { ok, by, text } = await examined({ COLLOQUY_DATABASE_URL: withPassword(server.url(database)) });
    expect(ok).toBe(false);
    expect(by("database")).toMatchObject([
      {
        health: "broken",
        found: expect.stringMatching(found) as string,
        mend: expect.stringMatching(mend) as string,
      },
    ]);
    expect(text).not.toContain("pass-word");
  });

  it("reports missing privileges with the same remedy as the service on start", async () => {
    const database = await server.createDatabase();
    await server.query(database, "CREATE ROLE weak LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    const weak = server.url(database).replace("colloquy@", "weak@");
    const mend = /GRANT CREATE ON SCHEMA public/;
    const { ok, by } = await examined({ COLLOQUY_DATABASE_URL: weak });
    expect(ok).toBe(false);
    expect(by("database")).toMatchObject([
      {
        health: "broken",
        found: expect.stringContaining("user weak") as string,
        mend: expect.stringMatching(mend) as string,
      },
    ]);
    await expect(refusingToStart(() => openPostgresStore({ url: weak }))).rejects.toThrow(mend);
    await server.query(database, "GRANT CREATE ON SCHEMA public TO weak");
    expect((await examined({ COLLOQUY_DATABASE_URL: weak })).by("database")).toMatchObject([
      { health: "ok" },
    ]);
    await (await refusingToStart(() => openPostgresStore({ url: weak }))).close();
  });

  it("reports secrets without a master key", async () => {
    const place = await url();
    const store = await openPostgresStore({ url: place });
    await store.secrets.bringInForce("gone", null);
    await store.secrets.put([{ app: "defi", clientId: "web", name: "A", keyId: "gone", sealed: "x" }]);
    await store.close();
    const { ok, by } = await examined({ COLLOQUY_DATABASE_URL: place });
    expect(ok).toBe(false);
    expect(by("keys")).toMatchObject([
      { health: "broken", mend: expect.stringContaining("COLLOQUY_SECRET_KEY") as string },
    ]);
  });

  it("rates a standby, clock differences and the number of open connections", async () => {
    const operations = await readFile(join(import.meta.dirname, "../../../../docs/operations.md"), "utf8");
    const found = {
      version: "15.8",
      clockAheadMs: 0,
      roundTripMs: 1,
      isStandby: false,
      user: "colloquy",
      mayCreate: true,
      connections: 5,
      maxConnections: 100,
      connectionLimit: 97,
      schemaVersion: 0,
      migrations: [],
      secretsByKey: {},
    };
    const healths = (more: Partial<typeof found>) =>
      findingsOf({ ...found, ...more }).map(({ about, health }) => `${about} ${health}`);
    expect(healths({})).toEqual(["database ok", "clock ok"]);
    expect(healths({ isStandby: true })).toEqual(["database broken", "clock ok"]);
    expect(healths({ clockAheadMs: -3000 })).toEqual(["database ok", "clock warning"]);
    expect(healths({ clockAheadMs: -3000, roundTripMs: 2500 })).toEqual(["database ok", "clock ok"]);
    expect(healths({ connections: 84 })).toEqual(["database ok", "clock ok"]);
    expect(healths({ connections: 85 })).toEqual(["database ok", "clock ok", "database warning"]);
    const [, , crowd] = findingsOf({ ...found, connections: 85 });
    const [, needed] = /a node needs up to (\d+)\./.exec(crowd!.found) ?? [];
    expect(operations).toContain(`if [public](#limits): ${needed} in all.`);
  });

  it.skipIf(withoutNats)("sends a notification to itself over NATS", async () => {
    const nats = await NatsServer.start();
    const { by } = await examined({
      COLLOQUY_DATABASE_URL: await url(),
      COLLOQUY_NATS_URL: `nats://127.0.0.1:${nats.port}`,
    });
    await nats.stop();
    expect(by("bus")).toMatchObject([
      { health: "ok", found: expect.stringContaining("over nats") as string },
    ]);
  });
});
