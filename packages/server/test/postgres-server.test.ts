import { chmod, cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { findPostgres, packagedPostgres, programsOf } from "./postgres-programs.ts";
import { PostgresServer } from "./postgres-server.ts";

const packaged = await packagedPostgres();

describe.skipIf(packaged === null)("the PostgreSQL installed by npm", () => {
  const undo: (() => Promise<unknown>)[] = [];
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "colloquy-programs-"));
    undo.push(() => rm(folder, { recursive: true }));
  });
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });

  it("runs a store, so that tests need only npm", async () => {
    expect(packaged).not.toBeNull();
    const server = await start(packaged!);
    const store = await openPostgresStore({ url: server.url("postgres") });
    await store.probe();
    await store.close();
  });

  it("starts from a folder that the user of PostgreSQL cannot access", async () => {
    await cp(dirname(packaged!), join(folder, "native"), { recursive: true, verbatimSymlinks: true });
    await chmod(folder, 0o700);
    const server = await start(join(folder, "native/bin"));
    expect(await server.query("postgres", "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("restores the library links that npm leaves out", async () => {
    await cp(dirname(dirname(packaged!)), folder, { recursive: true, verbatimSymlinks: true });
    const libraries = join(folder, "native/lib");
    const entries = await readdir(libraries, { withFileTypes: true });
    for (const link of entries.filter((entry) => entry.isSymbolicLink()))
      await rm(join(libraries, link.name));
    expect(await programsOf(folder)).toBe(join(folder, "native/bin"));
  });

  it("is used by the tests if the machine's own programs are hidden", async () => {
    vi.stubEnv("COLLOQUY_TEST_WITHOUT", "initdb");
    undo.push(async () => vi.unstubAllEnvs());
    expect(await findPostgres()).toBe(packaged);
  });

  async function start(programs: string): Promise<PostgresServer> {
    const server = await PostgresServer.start({}, programs);
    undo.push(() => server.stop());
    return server;
  }
});
