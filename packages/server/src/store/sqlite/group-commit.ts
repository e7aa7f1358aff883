// One commit for all waiting calls, which makes a durable write cheap. If a call or the transaction fails,
// everything is rolled back and each call is repeated in a separate transaction, so that one bad row never
// fails its neighbours (contract section 3). Savepoints would cost every call what only the rare failing call
// needs.

import type { DatabaseSync } from "node:sqlite";
import type { Selection, SessionCommand } from "../../core/commands/index.ts";
import { makeShared } from "../shared-ports.ts";
import { prepareUsed } from "./admin.ts";
import type { Call, Outcome, OwnPorts, Synchronous } from "./calls.ts";
import { prepareEvents } from "./events.ts";
import { failureOf } from "./failures.ts";
import { prepareSelections } from "./selections.ts";
import { prepareSessions } from "./sessions.ts";
import { type Prepare, prepareIn, prepareWork } from "./database.ts";
import type { Transaction } from "./transaction.ts";
import { prepareTurns } from "./turns.ts";

/** Runs the method of a call. The caller's types have checked its parameters (open.ts). */
type Run = (at: number, ...parameters: never[]) => unknown;
export type Methods = Pick<ReadonlyMap<string, Run>, "get">;

export function prepareMethods(prepare: Prepare, transaction: Transaction): Methods {
  const work = prepareWork(prepare);
  const own: { readonly [P in keyof OwnPorts]: Synchronous<OwnPorts[P]> } = {
    sessions: prepareSessions(prepare, transaction),
    turns: prepareTurns(prepare, transaction),
    events: prepareEvents(prepare),
  };
  const shared = makeShared(
    (_name, method): Run =>
      (at, ...parameters) =>
        work(method.work(at as never, ...parameters)),
  );
  const admin = { ...shared["admin"], used: prepareUsed(prepare, work) };
  const select = prepareSelections(prepare, work);
  const count = prepare<[]>("UPDATE sequences SET value = value + 1 WHERE name = 'probe'");
  const commands: Readonly<Record<string, Run>> = {
    execute: (at, command: SessionCommand) => transaction.execute(at, command),
    executeEach: (at, selection: Selection) =>
      select(at, selection).flatMap((command) => transaction.executeSelected(at, command) ?? []),
    probe: () => void count.run(),
    // The worker purges after the commit.
    purge: () => undefined,
  };
  const methods = Object.entries({ ...own, ...shared, admin }).flatMap(([port, named]) =>
    Object.entries<Run>(named).map(([name, run]) => [`${port}.${name}`, run] as const),
  );
  return new Map([...Object.entries(commands), ...methods]);
}

/**
 * Runs calls in order and returns their outcomes, in the same order, once they are on disk. Throws a
 * `FatalStoreError`.
 */
export type Commit = (calls: readonly Call[]) => readonly Outcome[];

export function prepareCommit(database: DatabaseSync, transaction: Transaction, methods: Methods): Commit {
  const inTransaction = prepareTransactions(database, () => transaction.undone());
  const run = ({ method, at, parameters }: Call): unknown => {
    const found = methods.get(method);
    if (found === undefined) throw new Error(`The store has no method ${method}`);
    return found(at, ...(parameters as never[]));
  };
  const together = (calls: readonly Call[]): readonly Outcome[] =>
    inTransaction(
      calls.some(({ writes }) => writes),
      () => calls.map((call) => ({ value: run(call) })),
    );
  const alone = (call: Call): Outcome => {
    try {
      return { value: inTransaction(call.writes, () => run(call)) };
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "defect" || call.method !== "execute") return { failure };
      return withoutWriting(call) ?? { failure };
    }
  };
  /** Returns the outcome of a command that need not write; `null` otherwise. */
  const withoutWriting = ({ at, parameters: [command] }: Call): Outcome | null => {
    try {
      const value = inTransaction(false, () =>
        transaction.executeWithoutWriting(at, command as SessionCommand),
      );
      return value === undefined ? null : { value };
    } catch (error) {
      return { failure: failureOf(error) };
    }
  };
  return (calls) => {
    if (calls.length > 1) {
      try {
        return together(calls);
      } catch (error) {
        // Rethrows if the process must end.
        failureOf(error);
      }
    }
    return calls.map(alone);
  };
}

/** Runs `work` in a transaction; rolls back if it throws. */
type InTransaction = <Result>(writes: boolean, work: () => Result) => Result;

function prepareTransactions(database: DatabaseSync, onUndone: () => void): InTransaction {
  const prepare = prepareIn(database);
  const beginWrite = prepare<[]>("BEGIN IMMEDIATE");
  const beginRead = prepare<[]>("BEGIN");
  const commit = prepare<[]>("COMMIT");
  return (writes, work) => {
    (writes ? beginWrite : beginRead).run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // On a full disk, SQLite has already rolled back.
      if (database.isTransaction) database.exec("ROLLBACK");
      onUndone();
      throw error;
    }
  };
}
