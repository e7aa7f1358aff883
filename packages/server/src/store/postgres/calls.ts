// How the methods of the ports are asked of the database.

import type { SessionCommand } from "../../core/commands/index.ts";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import type { Connection } from "./connections.ts";
import type { Patience } from "./session-locks.ts";

/** Of a call: nothing was done, because somebody else holds its session. It is tried again. */
export const PASSED_OVER = Symbol("passed over");

/** Calls about the same subject see what was asked before them. Times are milliseconds since the Unix epoch, on the store's clock. */
export interface Calls {
  /** Runs a command, in one transaction with others. */
  execute(command: SessionCommand): Promise<Committed<unknown> | null>;
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
