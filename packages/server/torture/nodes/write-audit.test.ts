import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTurn, step } from "../../src/store/contract/scenario.suite.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { isWithoutPostgres, PostgresServer } from "../../test/postgres-server.ts";
import { Violations } from "../violations.ts";
import { checkAudit, installAudit } from "./write-audit.ts";

describe.skipIf(await isWithoutPostgres())("an audit of writes", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(() => server.stop());

  /** A database with the audit, on which `node-1` has written a step of a turn. */
  async function audited() {
    const database = await server.createDatabase();
    const store = await openPostgresStore({ url: `${server.url(database)}?application_name=node-1.1` });
    await installAudit(server, database);
    const turn = await startTurn(store, randomUUID(), "Hello");
    await store.turns.checkpoint(turn, 0, "Hel");
    expect(await store.turns.stepWithCalls(turn, step(1, "Hello"), [], [])).not.toBeNull();
    await store.close();
    return { database, turn };
  }

  it("finds nothing wrong where each epoch has one writer", async () => {
    const { database } = await audited();
    const violations = new Violations();
    expect(await checkAudit(server, database, violations)).toBe(1);
    expect(violations.all).toEqual([]);
  });

  it("finds an epoch under which two processes have written", async () => {
    const { database, turn } = await audited();
    await server.query(
      database,
      `SET application_name = 'node-2.1';
       INSERT INTO checkpoints (session_key, turn, "offset", text) VALUES (${turn.sessionKey}, 1, 0, 'x')`,
    );
    const violations = new Violations();
    await checkAudit(server, database, violations);
    expect(violations.all.map(({ kind, detail }) => [kind, detail])).toEqual([
      ["old epoch", `epoch ${turn.epoch}: was written by node-1.1 and node-2.1`],
    ]);
  });

  it("says so when it has heard of no write at all", async () => {
    const database = await server.createDatabase();
    await (await openPostgresStore({ url: server.url(database) })).close();
    await installAudit(server, database);
    const violations = new Violations();
    await checkAudit(server, database, violations);
    expect(violations.count("old epoch")).toBe(1);
  });
});
