// Commits all waiting calls in one transaction, which makes a durable write cheap. If a call or the transaction fails,
// everything is rolled back and each call is repeated in a separate transaction, so that one bad row never
// fails its neighbours (contract section 3). Savepoints would make every call more expensive, for the sake of rare failures.

import type { DatabaseSync } from "node:sqlite";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Call, Outcome } from "./calls.ts";
import { prepareIn } from "./database.ts";
import type { DataFiles } from "./data-files.ts";
import { failureOf } from "./failures.ts";
import type { Methods } from "./methods.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Runs calls in order and returns their outcomes, in the same order, once they are on disk. Throws a
 * `FatalStoreError`.
 */
export type Commit = (calls: readonly Call[]) => readonly Outcome[];

/** The parts of a commit besides the database. */
export interface CommitParts {
  readonly transaction: Transaction;
  readonly methods: Methods;
  readonly files: Pick<DataFiles, "check">;
}

export function prepareCommit(database: DatabaseSync, { transaction, methods, files }: CommitParts): Commit {
  const begin = prepareTransactions(database, () => transaction.undone());
  const inTransaction: InTransaction = (writes, work) => {
    if (writes) files.check();
    return begin(writes, work);
  };
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
  const inOwnTransaction = (call: Call): Outcome => {
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
    return calls.map(inOwnTransaction);
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
