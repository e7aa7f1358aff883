// Several nodes on one database: each sees the commits of the others, and nothing is done twice.

import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Client } from "pg";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { TITLE_LEASE_MS } from "@colloquy/engine/internal/core/commands/finish-title";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  NOTHING,
  allEvents,
  chat,
  claimOf,
  complete,
  identityOf,
  messagesOf,
  record,
  startTurn,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { readMigrations } from "@colloquy/engine/internal/store/migrations";

describe.skipIf(await isWithoutPostgres())("nodes on one database", () => {
  const database = useDatabase("nothing");
  let nodes: Store[];
  beforeEach(async () => {
    nodes = await Promise.all(Array.from({ length: 5 }, () => database.open({ connections: 4 })));
  });

  it("migrate it once, however many start at the same time", async () => {
    const rows = await database.query("SELECT version FROM schema_migrations ORDER BY version");
    const migrations = readMigrations(join(import.meta.dirname, "migrations"));
    expect(rows).toEqual(migrations.map(({ version }) => ({ version })));
  });

  it("create each session once under concurrent requests, and lose no message", async () => {
    const ids = Array.from({ length: 40 }, () => randomUUID());
    const answers = await Promise.all(
      nodes.flatMap((node, index) =>
        // Each node uses another order, so that their transactions conflict.
        ids
          .toSorted(() => (index % 2 === 0 ? 1 : -1))
          .map((id) => chat(node, id, `from ${index}`, { maxQueued: 10 })),
      ),
    );
    expect(answers.filter(({ created }) => created)).toHaveLength(ids.length);
    for (const id of ids) {
      const messages = await messagesOf(nodes[0]!, id);
      expect(messages.map(({ content }) => content).toSorted()).toEqual(
        nodes.map((_node, index) => `from ${index}`),
      );
      const events = await allEvents(nodes[1]!, id);
      expect(events.map(({ number }) => number)).toEqual(events.map((_event, index) => index + 1));
    }
  });

  it("reserve room for files in one order, so that they never exceed a quota together", async () => {
    const sessionId = randomUUID();
    const reserve = async (node: Store, blob: string): Promise<number> => {
      await node.files.expect({ blob, app: "default", sessionId, owner: null, bytes: 10 }, 60_000);
      return (await node.files.used(blob)).owner;
    };
    const gate = new Client({ connectionString: database.url });
    await gate.connect();
    onTestFinished(() => gate.end());
    await gate.query(`CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
      CREATE TRIGGER gate BEFORE INSERT ON unused_blobs FOR EACH ROW WHEN (NEW.id = 'first')
      EXECUTE FUNCTION wait_at_gate()`);
    await gate.query("SELECT pg_advisory_lock(4711)");
    const first = reserve(nodes[0]!, "first");
    await database.untilWaiting(1);
    // The others would not see the first one, which would not count the last one.
    const others = ["second", "third"].map((blob, index) => reserve(nodes[index + 1]!, blob));
    await database.untilWaiting(3);
    await gate.query("SELECT pg_advisory_unlock(4711)");
    expect(await first).toBe(10);
    expect((await Promise.all(others)).toSorted((left, right) => left - right)).toEqual([20, 30]);
  });

  it("accept one request per idempotency key, whichever node gets it", async () => {
    const id = randomUUID();
    const idempotency = { key: "k", digest: "d" };
    const answers = await Promise.all(nodes.map((node) => chat(node, id, "hello", { idempotency })));
    const kinds = answers.map(({ outcome }) => outcome.kind).toSorted();
    expect(kinds).toEqual(["accepted", "replayed", "replayed", "replayed", "replayed"]);
    expect((await record(nodes[0]!, id)).messageCount).toBe(1);
  });

  it("claim every turn exactly once", async () => {
    const ids = Array.from({ length: 60 }, () => randomUUID());
    await Promise.all(ids.map((id) => chat(nodes[0]!, id, "hello")));
    const claims = await Promise.all(
      nodes.map((node, index) =>
        node.executeEach({
          kind: "claimTurns",
          owner: `node ${index}`,
          agentMessageIds: Array.from({ length: 20 }, () => randomUUID()),
          fullProviders: [],
          models: {},
        }),
      ),
    );
    const claimed = claims.flat().map(({ session }) => session.id);
    expect(new Set(claimed)).toEqual(new Set(ids));
    expect(claimed).toHaveLength(ids.length);
    const epochs = claims.flat().map(({ session }) => session.epoch);
    expect(new Set(epochs).size).toBe(ids.length);
  });

  it("reject writes of an owner whose turn another node has claimed", async () => {
    const id = randomUUID();
    const late = await startTurn(nodes[0]!, id, "hello", { claim: claimOf("paused") });
    await nodes[1]!.turns.releaseDeadLeases("other");
    const [again] = await nodes[1]!.executeEach({
      kind: "claimTurns",
      owner: "other",
      agentMessageIds: [randomUUID()],
      fullProviders: [],
      models: {},
    });
    expect(again?.session.epoch).toBeGreaterThan(late.epoch);
    expect(await nodes[0]!.turns.checkpoint([{ turn: late, offset: 0, text: "late" }])).toEqual([false]);
    expect(await nodes[0]!.turns.renew("paused", [late.epoch], 10_000)).toEqual({ renewed: [], busy: [] });
    await complete(nodes[1]!, again!.outcome!, "answer");
  });

  it.each(["interrupt", "delete"] as const)(
    "leave no streamed text behind if another node ends the turn during its checkpoint: %s",
    async (kind) => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(nodes[0]!, id, "hello"));
      const gate = new Client({ connectionString: database.url });
      await gate.connect();
      onTestFinished(() => gate.end());
      await gate.query(`CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
        CREATE TRIGGER gate BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION wait_at_gate()`);
      await gate.query("SELECT pg_advisory_lock(4711)");
      const checkpoint = nodes[0]!.turns.checkpoint([{ turn, offset: 0, text: "late" }]);
      await database.untilWaiting(1);
      const ended =
        kind === "interrupt"
          ? nodes[1]!.execute({ kind, target: target(id), input: { streamed: null } })
          : nodes[1]!.execute({ kind, target: target(id), input: null });
      await database.untilWaiting(2);
      await gate.query("SELECT pg_advisory_unlock(4711)");
      expect(await checkpoint).toEqual([true]);
      expect(await ended).not.toBeNull();
      expect(await database.query("SELECT * FROM checkpoints")).toEqual([]);
      expect(await nodes[0]!.turns.checkpoint([{ turn, offset: 4, text: "r" }])).toEqual([false]);
    },
  );

  it("use the clock of the database", async () => {
    const before = Number((await database.query("SELECT extract(epoch FROM now()) * 1000 AS at"))[0]?.["at"]);
    const { session } = await chat(nodes[0]!, randomUUID(), "hello");
    const after = Number((await database.query("SELECT extract(epoch FROM now()) * 1000 AS at"))[0]?.["at"]);
    expect(session.createdAt).toBeGreaterThanOrEqual(Math.floor(before));
    expect(session.createdAt).toBeLessThanOrEqual(after);
    const turn = await startTurn(nodes[1]!, randomUUID(), "hello");
    const [lease] = await database.query(
      "SELECT expires_at - extract(epoch FROM now()) * 1000 AS left FROM leases",
    );
    expect(Number(lease?.["left"])).toBeGreaterThan(5000);
    expect(await nodes[2]!.turns.renew("owner", [turn.epoch], 10_000)).toEqual({
      renewed: [turn.epoch],
      busy: [],
    });
    expect(await nodes[2]!.turns.releaseDeadLeases(null)).toBe(0);
  });

  it("share title jobs", async () => {
    const ids = Array.from({ length: 10 }, () => randomUUID());
    await Promise.all(ids.map((id) => chat(nodes[0]!, id, "hello")));
    await database.query(`UPDATE title_jobs SET due_at = due_at - ${TITLE_LEASE_MS}`);
    const jobs = await Promise.all(nodes.map((node) => node.jobs.claimTitles(10, 60_000)));
    expect(
      jobs
        .flat()
        .map(({ sessionId }) => sessionId)
        .toSorted(),
    ).toEqual(ids.toSorted());
  });

  it("retry a transaction that a deadlock rolled back", async () => {
    const id = randomUUID();
    const { session } = await chat(nodes[0]!, id, "hello");
    // A server checks for a deadlock once per wait. The timeout is late enough that the deadlock has
    // happened, however busy the machine is.
    await database.query(`ALTER DATABASE ${database.name} SET deadlock_timeout = '5s'`);
    const node = await database.open();
    let renamed: Promise<Committed<unknown> | null> | undefined;
    const job = `SELECT 1 FROM title_jobs WHERE session_key = ${session.key} FOR UPDATE`;
    // This client does not check for deadlocks, so that the node's transaction is the one that is rolled
    // back.
    await database.holding(`SET LOCAL deadlock_timeout = '1h'; ${job}`, async (run) => {
      renamed = node.execute({
        kind: "edit",
        target: { session: id, birth: null, load: false, access: null },
        input: { title: "Mine" },
      });
      await database.untilWaiting();
      await run(`SELECT 1 FROM sessions WHERE id = '${id}' FOR UPDATE`);
    });
    expect((await renamed)?.session.title).toBe("Mine");
  });

  it("retry all statements of a port that is written for both databases, not only those after the deadlock", async () => {
    const secret = (name: string, sealed: string) =>
      ({ app: "defi", clientId: "web", name, keyId: "k", sealed }) as const;
    await nodes[0]!.secrets.bringInForce("k", null);
    await nodes[0]!.secrets.put([secret("A", "old"), secret("B", "old")]);
    // As above.
    await database.query(`ALTER DATABASE ${database.name} SET deadlock_timeout = '5s'`);
    const node = await database.open();
    const lock = (name: string) => `SELECT 1 FROM secrets WHERE name = '${name}' FOR UPDATE`;
    const renewed = [secret("A", "new"), secret("B", "new")];
    let written: Promise<string | null> | undefined;
    await database.holding(`SET LOCAL deadlock_timeout = '1h'; ${lock("B")}`, async (run) => {
      written = node.secrets.put(renewed);
      await database.untilWaiting();
      await run(lock("A"));
    });
    expect(await written).toBe("k");
    expect(await node.secrets.of("defi", "web")).toEqual(renewed);
  });

  it("recover when their transactions deadlock", async () => {
    const ids = Array.from({ length: 12 }, () => randomUUID());
    for (const id of ids) await nodes[0]!.execute({ kind: "open", target: target(id), input: NOTHING });
    const stop = Promise.withResolvers<void>();
    // A client that repeatedly takes the same locks in the opposite order.
    const disturbing = disturb(ids.toSorted().toReversed(), stop.promise);
    const renamed: Promise<unknown>[] = [];
    for (let round = 0; round < 5; round += 1) {
      const all = nodes.flatMap((node, index) =>
        ids.map((id) =>
          node.execute({
            kind: "edit",
            target: { session: id, birth: null, load: false, access: null },
            input: { title: `round ${round} of ${index}` },
          }),
        ),
      );
      renamed.push(...all);
      await Promise.allSettled(all);
    }
    stop.resolve();
    await disturbing;
    const answers = await Promise.allSettled(renamed);
    expect(answers.filter(({ status }) => status === "rejected")).toEqual([]);
    for (const id of ids) expect((await record(nodes[0]!, id)).head).toBe(25);
  });

  async function disturb(ids: readonly string[], stopped: Promise<void>): Promise<void> {
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    while (!isStopped) {
      const locks = ids.map((id) => `PERFORM 1 FROM sessions WHERE id = '${id}' FOR UPDATE;`).join(" ");
      await database.query(`DO $$ BEGIN ${locks} END $$`).catch(() => undefined);
    }
  }
});
