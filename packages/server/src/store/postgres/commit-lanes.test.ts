import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../../test/postgres-server.ts";
import { CommitLanes } from "./commit-lanes.ts";
import { Connections } from "./connections.ts";
import type { Change } from "./group-commit.ts";
import { openPostgresStore } from "./open.ts";

const NEVER_MS = 600_000;

describe.skipIf(await isWithoutPostgres())("commits that are under way", () => {
  let server: PostgresServer;
  let database: string;
  let connections: Connections;
  const said: string[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    said.splice(0);
    database = await server.createDatabase();
    const url = server.url(database);
    await (await openPostgresStore({ url })).close();
    // Longer than any test: what waits is found out.
    connections = new Connections({ url, statementMs: 120_000 });
  });
  afterEach(() => connections.end());

  /** A change of a session that does not exist. */
  function change(decide: () => unknown = () => null): Change {
    return { sessionId: randomUUID(), needs: {}, at: null, decide };
  }

  it("let the next one begin when they have written all, and not before", async () => {
    const lanes = new CommitLanes({
      connections,
      lanes: 2,
      onFree: () => said.push(`free: ${lanes.isFree}`),
      lateMs: NEVER_MS,
    });
    const commit = lanes.commit([change(() => said.push(`decides, free: ${lanes.isFree}`))]);
    await commit.then(() => said.push("committed"));
    expect(said).toEqual(["decides, free: false", "free: true", "free: true", "committed"]);
  });

  it("are no more than there are lanes", async () => {
    const lanes = new CommitLanes({
      connections,
      lanes: 1,
      onFree: () => said.push("free"),
      lateMs: NEVER_MS,
    });
    await lanes.commit([change()]);
    expect(said).toEqual(["free"]);
    expect(lanes.isFree).toBe(true);
  });

  it("do not keep others from beginning when they take long to read", async () => {
    const free = Promise.withResolvers<void>();
    const lanes = new CommitLanes({ connections, lanes: 2, onFree: free.resolve, lateMs: 1 });
    let isCommitted = false;
    let commit: Promise<unknown> | undefined;
    await server.holding(database, "LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE", async () => {
      commit = lanes.commit([change()]).then(() => (isCommitted = true));
      await free.promise;
      expect([lanes.isFree, isCommitted]).toEqual([true, false]);
    });
    await commit;
  });
});
