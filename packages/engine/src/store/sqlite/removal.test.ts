import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import type { ChatInput, ChatOutcome } from "../../core/commands/chat.ts";
import type { SessionCommand } from "../../core/commands/index.ts";
import {
  askOf,
  callOf,
  chatInput,
  claimOf,
  existing,
  identityOf,
  step,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import type { TurnIdentity } from "../../core/turn.ts";
import { openDatabase, prepareIn } from "./database.ts";
import { prepareMethods } from "./methods.ts";
import { prepareTransaction } from "./transaction.ts";

describe("the removal of a session", () => {
  let database: DatabaseSync;
  beforeEach(() => {
    database = openDatabase(null, 0);
  });
  afterEach(() => database.close());

  /** Returns the number of rows of each table with a session key. */
  function rows(): Record<string, number> {
    const tables = database
      .prepare(
        `SELECT t.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
         WHERE t.schema = 'main' AND (c.name = 'session_key' OR (t.name = 'sessions' AND c.name = 'key'))`,
      )
      .all()
      .map((row) => String(row["name"]));
    return Object.fromEntries(
      tables.map((table) => [
        table,
        Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]),
      ]),
    );
  }

  function run(method: string, ...parameters: unknown[]): unknown {
    const prepare = prepareIn(database);
    const methods = prepareMethods(prepare, prepareTransaction(prepare));
    return methods.get(method)?.(1000, ...(parameters as never[]));
  }

  function execute(command: SessionCommand): unknown {
    return run("execute", command);
  }

  function startedTurn(id: string, text: string, more: Partial<ChatInput> = {}): TurnIdentity {
    const input = chatInput(text, { claim: claimOf(), ...more });
    const { outcome } = execute({ kind: "chat", target: target(id), input }) as Committed<ChatOutcome>;
    if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
    return identityOf(outcome.started);
  }

  /** Creates a session with a row in every table. */
  function fullSession(id: string): void {
    const idempotency = { key: "k", digest: "d" };
    execute({ kind: "open", target: target(id), input: { userState: null, publicKey: "0xa" } });
    const file = {
      app: "default",
      sha256: "f".repeat(64),
      mediaType: "text/plain",
      bytes: 3,
      name: "tea.txt",
    };
    execute({
      kind: "addFile",
      target: target(id),
      input: { ...file, id: randomUUID(), blob: `default/${randomUUID()}` },
    });
    const ended = { step: step(1, "Long."), summaryBudget: 9_000 };
    execute({ kind: "complete", target: { turn: startedTurn(id, "long") }, input: ended });
    const turn = startedTurn(id, "hello", { idempotency, publicKey: "0xb" });
    const calls = { step: step(1, "First."), calls: [callOf("c")], actions: [askOf("c")] };
    execute({ kind: "stepWithCalls", target: { turn }, input: calls });
    run("turns.checkpoint", [{ turn, offset: 0, text: "Sec" }]);
    run("search.index");
    execute({ kind: "chat", target: target(id), input: chatInput("not in the index yet") });
  }

  it.each(["delete", "expire"])("leaves no row of the session in any table: %s", (way) => {
    const id = randomUUID();
    fullSession(id);
    const full = rows();
    expect(Object.keys(full)).toHaveLength(15);
    expect(Object.values(full).every((count) => count > 0)).toBe(true);
    fullSession(randomUUID());
    if (way === "expire") {
      execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      database.prepare("UPDATE sessions SET retention = 1 WHERE id = ?").run(id);
      run("sessions.expire", { emptyBefore: 0, unboundBefore: 1_000_000, limit: 10 });
    } else {
      execute({ kind: "delete", target: existing(id), input: null });
    }
    // Deletes the words of the removed messages, and adds the last message of the other session.
    run("search.index");
    expect(rows()).toEqual({ ...full, search_jobs: 0, search_documents: 4 });
  });
});
