// Facts are read in the round trip that takes the lock, so also for sessions that another transaction has
// locked. For those, nothing large may be sent: it would be read, sent and parsed in vain at every retry, and
// would delay all other changes of the batch.

import { randomUUID } from "node:crypto";
import type { QueryResult } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import type { Needs } from "@colloquy/engine/internal/core/commands/command";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { StartedTurn } from "@colloquy/engine/internal/core/turn";
import {
  askOf,
  callOf,
  complete,
  identityOf,
  startTurn,
  step,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import type { Connection, Connections } from "./connections.ts";

import { send } from "./statement.ts";
import { Transaction } from "./transaction.ts";

/** A distinct word for each large value of a session. */
const WORDS = ["the past", "the question", "the stream", "the tool", "the system"];

describe.skipIf(await isWithoutPostgres())("facts of sessions that another transaction has locked", () => {
  const database = useDatabase("the schema");
  let store: Store;
  let connections: Connections;
  beforeEach(async () => {
    store = await database.open();
    connections = database.connect();
  });

  /** Creates a session with a history, a system event, and a turn that has streamed text and an action. */
  async function session(): Promise<StartedTurn> {
    const id = randomUUID();
    await complete(store, await startTurn(store, id, "hello"), "the past");
    const started = await startTurn(store, id, "the question");
    const turn = identityOf(started);
    const asked = { kind: "approval", request: { tool: "the tool", input: {} } } as const;
    await store.execute({
      kind: "stepWithCalls",
      target: { turn },
      input: { step: step(1, ""), calls: [callOf("a")], actions: [askOf("a", { asked })] },
    });
    await store.turns.checkpoint([{ turn, offset: 0, text: "the stream" }]);
    const item = `INSERT INTO system_events (session_key, number, item) VALUES (${turn.sessionKey}, 1, '{"text":"the system"}')`;
    await database.query(item);
    return started;
  }

  function holding(id: string, work: () => Promise<void>): Promise<void> {
    return database.holding(`SELECT 1 FROM sessions WHERE id = '${id}' FOR UPDATE`, work);
  }

  /** Begins a transaction and rolls it back. Returns the rows that the server sent for each session. */
  async function sent(
    turns: readonly StartedTurn[],
    needs: Needs,
    patience: "waits" | "passes over",
  ): Promise<readonly string[]> {
    return await connections.use(async (connection) => {
      const rows: Record<string, unknown>[] = [];
      const begin = send(connection, "BEGIN");
      await Transaction.begin(keepingRows(connection, rows), {
        sessions: new Map(turns.map(({ sessionId }) => [sessionId, [needs]])),
        patience,
        epochs: 0,
        births: new Set(),
      });
      await begin;
      await send(connection, "ROLLBACK");
      return turns.map(({ sessionKey }) =>
        JSON.stringify(rows.filter((row) => row["session_key"] === sessionKey)),
      );
    });
  }

  it.each([
    ["all that a snapshot shows", { snapshot: true }, WORDS],
    ["their turns", { openTurns: true, checkpointed: true }, ["the question", "the stream", "the tool"]],
  ] as const)("are not sent: %s", async (_, needs, words) => {
    const [held, free] = [await session(), await session()];
    await holding(held.sessionId, async () => {
      const [ofHeld = "", ofFree = ""] = await sent([held, free], needs, "passes over");
      expect(WORDS.filter((word) => ofHeld.includes(word))).toEqual([]);
      expect(WORDS.filter((word) => ofFree.includes(word))).toEqual(words);
    });
    const [ofHeld = ""] = await sent([held], needs, "waits");
    expect(WORDS.filter((word) => ofHeld.includes(word))).toEqual(words);
  });

  it("are available to readers", async () => {
    const held = await session();
    await holding(held.sessionId, async () => {
      const history = await store.turns.history(identityOf(held), 1000);
      expect(history?.map(({ userMessage }) => userMessage.content)).toEqual(["hello", "the question"]);
    });
  });
});

/** Wraps a connection to record the rows of its answers in `rows`. */
function keepingRows(connection: Connection, rows: Record<string, unknown>[]): Connection {
  const query = (config: unknown, callback: (error: Error | null, result: QueryResult) => void): unknown =>
    (connection.query as (...given: unknown[]) => unknown)(
      config,
      (error: Error | null, result: QueryResult) => {
        if (error === null) rows.push(...(result.rows as Record<string, unknown>[]));
        callback(error, result);
      },
    );
  return { query } as unknown as Connection;
}
