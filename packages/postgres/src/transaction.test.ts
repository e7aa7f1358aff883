import { randomUUID } from "node:crypto";
import type { QueryConfig } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import type { Needs } from "@colloquy/engine/internal/core/commands/command";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  NOTHING,
  chat,
  chatInput,
  complete,
  existing,
  load,
  record,
  startTurn,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import type { Connection, Connections } from "./connections.ts";
import { readFacts } from "./facts.ts";
import { send } from "./statement.ts";
import { Transaction, type Locked } from "./transaction.ts";

describe.skipIf(await isWithoutPostgres())("a transaction", () => {
  const database = useDatabase("the schema");
  let store: Store;
  let connections: Connections;
  beforeEach(async () => {
    store = await database.open();
    connections = database.connect();
  });

  /** Creates a session whose turn has ended, and returns statements that make it run again. */
  async function endedTurn() {
    const id = randomUUID();
    const turn = await startTurn(store, id, "hello");
    await complete(store, turn, "the whole answer");
    const key = turn.sessionKey;
    const again = `
      UPDATE sessions SET status = 'processing' WHERE key = ${key};
      UPDATE turns SET state = 'running', ended_at = NULL WHERE session_key = ${key};
      UPDATE messages SET status = 'streaming', content = 'said by then' WHERE session_key = ${key} AND position = 2;
      INSERT INTO idempotency_keys (session_key, key, digest, turn, at) VALUES (${key}, 'k', 'd', 1, 9e15::bigint)`;
    return { id, again };
  }

  /**
   * Calls `ask` while another transaction holds the rows that `again` changes, and commits that transaction
   * once the call waits.
   */
  async function askedMeanwhile<Answer>(again: string, ask: () => Promise<Answer>): Promise<Answer> {
    let answer: Promise<Answer> | undefined;
    await database.holding(again, async (run) => {
      answer = ask();
      await database.untilWaiting();
      await run("COMMIT");
    });
    return await answer!;
  }

  it("reads what was committed while it waited for its lock: turns, their messages, and the snapshot", async () => {
    const { id, again } = await endedTurn();
    const committed = await askedMeanwhile(again, () =>
      store.execute({ kind: "interrupt", target: existing(id, true), input: { streamed: null } }),
    );
    expect(committed?.session.status).toBe("interrupted");
    expect(committed?.loaded?.messages.map(({ content, status }) => [content, status])).toEqual([
      ["hello", "complete"],
      ["said by then", "interrupted"],
    ]);
    expect((await load(store, id)).messages).toEqual(committed?.loaded?.messages);
  });

  it("counts turns and finds keys that were committed while it waited for its lock", async () => {
    const { id, again } = await endedTurn();
    const busy = await askedMeanwhile(again, () =>
      store.execute({ kind: "chat", target: existing(id), input: chatInput("next", { onBusy: "reject" }) }),
    );
    expect(busy?.outcome).toEqual({ kind: "rejected", reason: "session_busy" });
    const replayed = await chat(store, id, "next", { idempotency: { key: "k", digest: "d" } });
    expect(replayed.outcome).toEqual({ kind: "replayed", turn: 1 });
  });

  it("reads the time after it has the lock", async () => {
    const id = randomUUID();
    await store.execute({ kind: "open", target: target(id), input: NOTHING });
    let released = 0;
    const hold = `SELECT 1 FROM sessions WHERE id = '${id}' FOR UPDATE`;
    await database.holding(hold, async (run) => {
      const renamed = store.execute({ kind: "edit", target: existing(id), input: { title: "waits" } });
      await database.untilWaiting();
      const { rows } = (await run(
        "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now",
      )) as { readonly rows: readonly [{ readonly now: number }] };
      released = rows[0].now;
      await run("COMMIT");
      await renamed;
    });
    expect((await record(store, id)).updatedAt).toBeGreaterThanOrEqual(released);
  });

  it("creates a missing session, and no other", async () => {
    const [there, birth, nobodys] = [randomUUID(), randomUUID(), randomUUID()];
    await store.execute({ kind: "open", target: target(there), input: NOTHING });
    await begun({ births: [there, birth], others: [nobodys] }, (transaction) => {
      expect([there, birth, nobodys].map((id) => transaction.isHeld(id))).toEqual([false, false, false]);
      expect(transaction.byId(there)).not.toBeNull();
      expect([birth, nobodys].map((id) => transaction.byId(id))).toEqual([null, null]);
      const born = transaction.execute(0, {
        kind: "edit",
        target: {
          session: birth,
          birth: { incarnation: "new", model: "demo/assistant" },
          load: false,
          access: null,
        },
        input: { title: "Born" },
      });
      expect(born?.created).toBe(true);
    });
  });

  it("skips a session that another transaction is creating, but not one that is only read", async () => {
    const [birth, other] = [randomUUID(), randomUUID()];
    await begun({ births: [birth], others: [] }, async () => {
      await begun({ births: [birth], others: [other] }, (transaction) => {
        expect([birth, other].map((id) => transaction.isHeld(id))).toEqual([true, false]);
      });
      await begun({ births: [], others: [birth] }, (transaction) => {
        expect(transaction.isHeld(birth)).toBe(false);
      });
    });
  });

  it("uses the session that another transaction created while it waited", async () => {
    const [model, birth] = [randomUUID(), randomUUID()];
    await store.execute({ kind: "open", target: target(model), input: NOTHING });
    let begins: Promise<number> | undefined;
    // As for a new session: first its lock, then its row.
    const hold = `
      SELECT pg_advisory_xact_lock(20482, hashtext('${birth}'));
      INSERT INTO sessions SELECT (jsonb_populate_record(s, jsonb_build_object('id', '${birth}', 'key', 77))).*
      FROM sessions s WHERE id = '${model}'`;
    await database.holding(hold, async (run) => {
      begins = begun({ births: [birth], others: [], patience: "waits" }, (transaction) => {
        expect(transaction.isHeld(birth)).toBe(false);
        expect(transaction.byId(birth)?.session.key).toBe(77);
      });
      await database.untilWaiting();
      await run("COMMIT");
    });
    await begins;
  });

  it.each(["waits", "passes over"] as const)("locks and reads in one round trip (%s)", async (patience) => {
    const id = randomUUID();
    await startTurn(store, id, "hello");
    const needs = {
      openTurns: true,
      checkpointed: true,
      snapshot: true,
      idempotencyKey: "k",
      action: randomUUID(),
    };
    const rounds = await begun(
      { births: [id, randomUUID()], others: [randomUUID()], needs, patience },
      (transaction) => expect(transaction.byId(id)?.openTurns()).toHaveLength(1),
    );
    expect(rounds).toBe(1);
  });

  it("uses only indexes, even with plans made for empty tables", async () => {
    await connections.use(async (connection) => {
      const asked: QueryConfig[] = [];
      const query = (config: QueryConfig, ...callback: readonly unknown[]) => {
        asked.push(config);
        return (connection.query as (...given: readonly unknown[]) => unknown)(config, ...callback);
      };
      const [birth, other] = [randomUUID(), randomUUID()];
      const sessions = new Map<string, readonly Needs[]>([
        [birth, [{ turnCount: true, idempotencyKey: "k", action: randomUUID() }]],
        [other, [{ openTurns: true, checkpointed: true }, { snapshot: true }]],
        [randomUUID(), [{ openTurns: true }]],
      ]);
      const asking = { query } as unknown as Connection;
      await Transaction.begin(asking, { sessions, patience: "waits", epochs: 1, births: new Set([birth]) });
      expect(asked).toHaveLength(13);
      await readFacts(asking, sessions, "any");
      expect(asked).toHaveLength(22);
      for (const { name, text, values = [] } of asked) {
        const given = values.map(literalOf).join(", ");
        const { rows } = await connection.query(`EXPLAIN (FORMAT JSON) EXECUTE "${name}" (${given})`);
        expect([text, readWhole(rows)]).toEqual([text, []]);
        // The index of all due actions is shared by all sessions.
        expect(JSON.stringify(rows)).not.toContain("actions_due");
      }
    });
  });

  /** Begins a transaction and rolls it back. Returns the number of round trips. */
  async function begun(
    {
      births,
      others,
      needs = {},
      patience = "passes over",
    }: {
      readonly births: readonly string[];
      readonly others: readonly string[];
      readonly needs?: Needs;
      readonly patience?: Locked["patience"];
    },
    work: (transaction: Transaction) => unknown,
  ): Promise<number> {
    return await connections.use(async (connection) => {
      const counted = countingRounds(connection);
      const begin = send(counted.connection, "BEGIN");
      const transaction = await Transaction.begin(counted.connection, {
        sessions: new Map([...births, ...others].map((id) => [id, [needs]])),
        patience,
        epochs: 1,
        births: new Set(births),
      });
      await begin;
      const rounds = counted.rounds();
      await work(transaction);
      await send(connection, "ROLLBACK");
      return rounds;
    });
  }
});

/** Wraps a connection to count its round trips. */
function countingRounds(connection: Connection): { readonly connection: Connection; rounds(): number } {
  let rounds = 0;
  let hasAnswered = true;
  const query = (...given: unknown[]): unknown => {
    if (hasAnswered) rounds += 1;
    hasAnswered = false;
    const [config, callback] = given as [unknown, (error: Error | null, result: unknown) => void];
    return (connection.query as (...parameters: unknown[]) => unknown)(
      config,
      (error: Error | null, result: unknown) => {
        hasAnswered = true;
        callback(error, result);
      },
    );
  };
  return { connection: { query } as unknown as Connection, rounds: () => rounds };
}

function literalOf(value: unknown): string {
  return Array.isArray(value) ? `'{${value.join(",")}}'` : `'${String(value)}'`;
}

/** Returns the tables that a plan reads completely, with or without an index. */
function readWhole(plan: unknown): readonly string[] {
  if (Array.isArray(plan)) return plan.flatMap(readWhole);
  if (typeof plan !== "object" || plan === null) return [];
  const node = plan as Readonly<Record<string, unknown>>;
  const isRead = typeof node["Relation Name"] === "string" && node["Node Type"] !== "Bitmap Heap Scan";
  const isIndex = typeof node["Index Name"] === "string";
  const isWhole = (isRead || isIndex) && node["Index Cond"] === undefined;
  return [...(isWhole ? [JSON.stringify(node)] : []), ...Object.values(node).flatMap(readWhole)];
}
