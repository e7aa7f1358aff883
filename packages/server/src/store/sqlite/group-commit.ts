// One commit for all calls that wait: what makes a durable write cheap. Each call has a savepoint of its own, so that a failing one is
// undone alone; when the transaction itself fails, its calls are repeated one by one, so that one bad row never fails
// its neighbours (contract section 3).

import type { DatabaseSync } from "node:sqlite";
import type { Call, Method, Outcome } from "./calls.ts";
import { failureOf } from "./failures.ts";
import type { Handler } from "./handlers.ts";
import { prepare } from "./rows.ts";

/** Runs calls in their order and answers their outcomes, in the same order, when they are on disk. Throws a FatalStoreError. */
export type Commit = (calls: readonly Call[]) => readonly Outcome[];

export function prepareCommit(database: DatabaseSync, handlers: ReadonlyMap<Method, Handler>): Commit {
  const { inTransaction, inSavepoint } = prepareTransactions(database);
  const handlerOf = ({ method }: Call): Handler => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new Error(`The store has no method ${method}`);
    return handler;
  };
  const together = (calls: readonly Call[]): readonly Outcome[] =>
    inTransaction(
      calls.some((call) => handlerOf(call).writes),
      () => calls.map((call) => inSavepoint(() => handlerOf(call).run(call))),
    );
  const alone = (call: Call): Outcome => {
    const { writes, run, withoutWriting } = handlerOf(call);
    try {
      return { value: inTransaction(writes, () => run(call)) };
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "defect" || withoutWriting === null) return { failure };
      return inTransaction(false, () => withoutWriting(call)) ?? { failure };
    }
  };
  return (calls) => {
    if (calls.length > 1) {
      try {
        return together(calls);
      } catch (error) {
        failureOf(error);
      }
    }
    return calls.map(alone);
  };
}

interface Transactions {
  /** Runs `work` in a transaction; undoes it all when it throws. */
  inTransaction<Result>(writes: boolean, work: () => Result): Result;
  /** Throws what concerns the whole transaction; a mistake in this call is undone and answered alone. */
  inSavepoint(work: () => unknown): Outcome;
}

function prepareTransactions(database: DatabaseSync): Transactions {
  const beginWrite = prepare<[]>(database, "BEGIN IMMEDIATE");
  const beginRead = prepare<[]>(database, "BEGIN");
  const commit = prepare<[]>(database, "COMMIT");
  const savepoint = prepare<[]>(database, "SAVEPOINT call");
  const release = prepare<[]>(database, "RELEASE call");
  return {
    inTransaction: (writes, work) => {
      (writes ? beginWrite : beginRead).run();
      try {
        const result = work();
        commit.run();
        return result;
      } catch (error) {
        // On a full disk SQLite has undone the transaction already.
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    },
    inSavepoint: (work) => {
      savepoint.run();
      try {
        const value = work();
        release.run();
        return { value };
      } catch (error) {
        const failure = failureOf(error);
        if (failure.kind !== "defect" || !database.isTransaction) throw error;
        database.exec("ROLLBACK TO call; RELEASE call");
        return { failure };
      }
    },
  };
}
