// One commit for all calls that wait: what makes a durable write cheap. When one of them fails, or the transaction itself, all are undone
// and repeated one by one, each in a transaction of its own, so that one bad row never fails its neighbours (contract section 3).
// A savepoint for each would cost every call what only the rare failing one needs.

import type { DatabaseSync } from "node:sqlite";
import type { Call, Method, Outcome } from "./calls.ts";
import { failureOf } from "./failures.ts";
import type { Handler } from "./handlers.ts";
import { prepare } from "./statement.ts";

/** Runs calls in their order and answers their outcomes, in the same order, when they are on disk. Throws a FatalStoreError. */
export type Commit = (calls: readonly Call[]) => readonly Outcome[];

export function prepareCommit(
  database: DatabaseSync,
  handlers: ReadonlyMap<Method, Handler>,
  onUndone: () => void,
): Commit {
  const inTransaction = prepareTransactions(database, onUndone);
  const handlerOf = ({ method }: Call): Handler => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new Error(`The store has no method ${method}`);
    return handler;
  };
  const together = (calls: readonly Call[]): readonly Outcome[] =>
    inTransaction(
      calls.some((call) => handlerOf(call).writes),
      () => calls.map((call) => ({ value: handlerOf(call).run(call) })),
    );
  const alone = (call: Call): Outcome => {
    const { writes, run, withoutWriting } = handlerOf(call);
    try {
      return { value: inTransaction(writes, () => run(call)) };
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "defect" || withoutWriting === null) return { failure };
      return answerWithoutWriting(withoutWriting, call) ?? { failure };
    }
  };
  const answerWithoutWriting = (
    answer: NonNullable<Handler["withoutWriting"]>,
    call: Call,
  ): Outcome | null => {
    try {
      return inTransaction(false, () => answer(call));
    } catch (error) {
      return { failure: failureOf(error) };
    }
  };
  return (calls) => {
    if (calls.length > 1) {
      try {
        return together(calls);
      } catch (error) {
        // Only what must end the process is thrown on.
        failureOf(error);
      }
    }
    return calls.map(alone);
  };
}

/** Runs `work` in a transaction; undoes it all when it throws. */
type InTransaction = <Result>(writes: boolean, work: () => Result) => Result;

function prepareTransactions(database: DatabaseSync, onUndone: () => void): InTransaction {
  const beginWrite = prepare<[]>(database, "BEGIN IMMEDIATE");
  const beginRead = prepare<[]>(database, "BEGIN");
  const commit = prepare<[]>(database, "COMMIT");
  return (writes, work) => {
    (writes ? beginWrite : beginRead).run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // On a full disk SQLite has undone the transaction already.
      if (database.isTransaction) database.exec("ROLLBACK");
      onUndone();
      throw error;
    }
  };
}
