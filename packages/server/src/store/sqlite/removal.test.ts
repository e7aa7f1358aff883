import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import type { ChatOutcome } from "../../core/commands/chat.ts";
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
} from "../contract/testing/scenario.ts";
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

  /** Creates a session with a row in every table. */
  function fullSession(id: string): void {
    const idempotency = { key: "k", digest: "d" };
    execute({ kind: "open", target: target(id), input: { userState: null, publicKey: "0xa" } });
    const input = chatInput("hello", { claim: claimOf(), idempotency, publicKey: "0xb" });
    const { outcome } = execute({ kind: "chat", target: target(id), input }) as Committed<ChatOutcome>;
    if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
    const turn = identityOf(outcome.started);
    const calls = { step: step(1, "First."), calls: [callOf("c")], asked: [askOf("c")] };
    execute({ kind: "stepWithCalls", target: { turn }, input: calls });
    execute({ kind: "checkpoint", target: { turn }, input: { offset: 0, text: "Sec" } });
  }

  it.each(["delete", "expire"])("leaves no row of the session in any table: %s", (way) => {
    const id = randomUUID();
    fullSession(id);
    const full = rows();
    expect(Object.keys(full)).toHaveLength(11);
    expect(Object.values(full).every((count) => count > 0)).toBe(true);
    fullSession(randomUUID());
    if (way === "expire") {
      execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      database.prepare("UPDATE sessions SET retention = 1 WHERE id = ?").run(id);
      run("sessions.expire", { emptyBefore: 0, unboundBefore: 1_000_000, limit: 10 });
    } else {
      execute({ kind: "delete", target: existing(id), input: null });
    }
    expect(rows()).toEqual(full);
  });
});
