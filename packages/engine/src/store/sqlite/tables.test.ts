import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { NOTHING, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { describeTables, type GivenDatabase } from "@colloquy/testing/internal/store/tables.suite";
import { openSqliteStore } from "./open.ts";
import { withSqliteTables } from "./tables.ts";

async function createDatabase(): Promise<GivenDatabase> {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-sqlite-tables-"));
  const open = (role: "server" | "administration" = "server") =>
    openSqliteStore({
      directory,
      role,
      clock: new ManualClock(),
      onFatal: (error) => expect.fail(error.message),
    });
  await (await open()).close();
  return {
    withTables: (access, work) => withSqliteTables({ directory, access, at: 0 }, work),
    serve: async () => (await open()).close(),
    write: async () => {
      const store = await open("administration");
      try {
        await store.execute({ kind: "open", target: target(randomUUID()), input: NOTHING });
      } finally {
        await store.close();
      }
    },
    dispose: () => rm(directory, { recursive: true }),
  };
}

describeTables("SQLite", createDatabase);

it("rejects a directory without a database as a source, and leaves it unchanged", async () => {
  const directory = join(tmpdir(), "colloquy-nothing-here");
  for (const access of ["source", "alone", "beside"] as const) {
    await expect(withSqliteTables({ directory, access, at: 0 }, () => Promise.resolve())).rejects.toThrow(
      /no Colloquy database in .*Name the data directory/,
    );
  }
});
