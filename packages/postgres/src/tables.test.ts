import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { makeTemplate, usePostgres } from "../../server/test/use-postgres.ts";
import { NOTHING, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { describeTables, type GivenDatabase } from "@colloquy/testing/internal/store/tables.suite";
import { openPostgresStore } from "./open.ts";
import { withPostgresTables } from "./tables.ts";

describe.skipIf(await isWithoutPostgres())("a server of its own", () => {
  const server = usePostgres();
  let template: string;
  beforeAll(async () => void (template = await makeTemplate(server)));

  async function createDatabase(): Promise<GivenDatabase> {
    const url = server.url(await server.createDatabase(template));
    return {
      withTables: (access, work) => withPostgresTables({ url, access }, work),
      serve: async () => (await openPostgresStore({ url })).close(),
      write: async () => {
        const store = await openPostgresStore({ url, statementMs: 5_000 });
        try {
          await store.execute({ kind: "open", target: target(randomUUID()), input: NOTHING });
        } finally {
          await store.close();
        }
      },
      dispose: () => Promise.resolve(),
    };
  }

  describeTables("PostgreSQL", createDatabase);

  it("describes its location without user and password", async () => {
    const url = server.url(await server.createDatabase(template)).replace("@", ":pass-word@");
    const place = await withPostgresTables({ url, access: "beside" }, (store) =>
      Promise.resolve(store.place),
    );
    expect(place).toMatch(/^postgres:\/\/127.0.0.1:\d+\/test_[0-9a-f]+$/);
  });

  it("lets one command at a time move or replace data", async () => {
    const url = server.url(await server.createDatabase(template));
    await withPostgresTables({ url, access: "target" }, async () => {
      const second = withPostgresTables({ url, access: "source" }, () => Promise.resolve());
      await expect(second).rejects.toThrow(/Another colloquy command is working on/);
      // A read-only command beside a server is allowed.
      await withPostgresTables({ url, access: "beside" }, () => Promise.resolve());
    });
  });
});
