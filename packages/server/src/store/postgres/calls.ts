// How the methods of the ports are asked of the database.

import type { Connection } from "./connections.ts";
import type { Needs } from "./facts.ts";
import type { Patience } from "./session-locks.ts";
import type { Transaction } from "./transaction.ts";

/** What a change of one session has to know of it, and whether the session may begin its life here. */
export interface ChangeNeeds extends Needs {
  readonly mayBegin?: boolean;
}

/** Of a call: nothing was done, because somebody else holds its session. It is tried again. */
export const PASSED_OVER = Symbol("passed over");

/** Calls about the same subject see what was asked before them. Times are milliseconds since the Unix epoch, on the store's clock. */
export interface Calls {
  /** A change of one session. It travels with others: `decide` is called when all that it needs was read. */
  change<Answer>(
    sessionId: string,
    needs: ChangeNeeds,
    decide: (transaction: Transaction, at: number) => Answer,
  ): Promise<Answer>;
  /**
   * A change in a transaction of its own. It may be run again: nothing of a time before has then happened. Work that locks a session passes
   * over it first (`PASSED_OVER`), and waits for it when it is told to: those who may wait at once are few.
   */
  alone<Answer>(
    subject: string,
    work: (connection: Connection, at: number, patience: Patience) => Promise<Answer | typeof PASSED_OVER>,
  ): Promise<Answer>;
  /** What one statement answers. `at` is `null` where the database's own time counts. */
  look<Answer>(
    subject: string | null,
    work: (connection: Connection, at: number | null) => Promise<Answer>,
  ): Promise<Answer>;
  /** One state of the database, read with as many statements as it takes. `at` as in `look`. */
  read<Answer>(
    subject: string,
    work: (connection: Connection, at: number | null) => Promise<Answer>,
  ): Promise<Answer>;
}

/** The subject of calls about a session. */
export function ofSession(id: string): string {
  return `session ${id}`;
}
