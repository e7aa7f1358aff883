import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { CommitLanes, type Change } from "./group-commit.ts";
import type { Connections } from "./connections.ts";

const NEVER_MS = 600_000;

/** Makes writers of a key wait in the COMMIT, with everything written, until its lock is released. */
const SLOW_COMMIT = `
  CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON idempotency_keys DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_for_lock();`;

/** Returns a change that writes this key. */
function writes(key: string): Change {
  return {
    sessionId: randomUUID(),
    needs: {},
    mayCreate: false,
    at: null,
    decide: ({ changes }) => changes.usedKeys.set(key, [1, key, "", 1, 1]),
  };
}

describe.skipIf(await isWithoutPostgres())("commits in progress", () => {
  const database = useDatabase("the schema");
  let connections: Connections;
  const said: string[] = [];
  beforeEach(() => {
    said.splice(0);
    // Longer than any test, so that a waiting change fails the test.
    connections = database.connect({ statementMs: 120_000 });
  });

  /** Returns a change of a session that does not exist. */
  function change(decide: () => unknown = () => null): Change {
    return { sessionId: randomUUID(), needs: {}, mayCreate: false, at: null, decide };
  }

  it("let the next one begin when they have ended, and not before", async () => {
    const lanes = new CommitLanes({
      connections,
      lanes: 2,
      onFree: () => said.push(`free: ${lanes.isFree}`),
      lateMs: NEVER_MS,
      diskMs: NEVER_MS,
    });
    const commit = lanes.commit([change(() => said.push(`decides, free: ${lanes.isFree}`))]);
    await commit.then(() => said.push("committed"));
    expect(said).toEqual(["decides, free: false", "free: true", "committed"]);
  });

  it("do not block others while they wait for the disk", async () => {
    await database.query(SLOW_COMMIT);
    const free = Promise.withResolvers<void>();
    const lanes = new CommitLanes({
      connections,
      lanes: 2,
      onFree: free.resolve,
      lateMs: NEVER_MS,
      diskMs: 1,
    });
    let isCommitted = false;
    let commit: Promise<unknown> | undefined;
    await database.holding("SELECT pg_advisory_xact_lock(1)", async () => {
      commit = lanes.commit([writes("key")]).then(() => (isCommitted = true));
      await free.promise;
      expect([lanes.isFree, isCommitted]).toEqual([true, false]);
    });
    await commit;
  });

  it("never exceed the number of lanes, however long the disk takes", async () => {
    await database.query(SLOW_COMMIT);
    const late = Promise.withResolvers<void>();
    const slow = { connections, lateMs: NEVER_MS, diskMs: 1 };
    const lanes = new CommitLanes({ ...slow, lanes: 1, onFree: () => said.push("free") });
    const others = new CommitLanes({ ...slow, lanes: 2, onFree: late.resolve });
    const commits: Promise<unknown>[] = [];
    await database.holding("SELECT pg_advisory_xact_lock(1)", async () => {
      commits.push(lanes.commit([writes("one")]));
      await database.untilWaiting();
      // Written after the first commit: when this one no longer waits for the disk, neither does the first.
      commits.push(others.commit([writes("other")]));
      await late.promise;
      expect([lanes.isFree, said]).toEqual([false, []]);
    });
    await Promise.all(commits);
    expect([lanes.isFree, said]).toEqual([true, ["free"]]);
  });

  it("delay the next one after a large batch, so that the batch's callers can join it", async () => {
    const free = Promise.withResolvers<void>();
    const never = { lateMs: NEVER_MS, diskMs: NEVER_MS };
    const lanes = new CommitLanes({ connections, lanes: 2, onFree: free.resolve, ...never });
    await lanes.commit(Array.from({ length: 5 }, () => change()));
    expect(lanes.isFree).toBe(false);
    await free.promise;
    expect(lanes.isFree).toBe(true);
  });

  it("do not block others during long reads", async () => {
    const free = Promise.withResolvers<void>();
    const lanes = new CommitLanes({ connections, lanes: 2, onFree: free.resolve, lateMs: 1 });
    let isCommitted = false;
    let commit: Promise<unknown> | undefined;
    await database.holding("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE", async () => {
      commit = lanes.commit([change()]).then(() => (isCommitted = true));
      await free.promise;
      expect([lanes.isFree, isCommitted]).toEqual([true, false]);
    });
    await commit;
  });
});
