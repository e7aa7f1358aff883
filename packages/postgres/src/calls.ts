// The interface through which the ports use the database.

import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { sharedPorts, type SharedPorts } from "@colloquy/engine/internal/store/shared-ports";
import type { Connection } from "./connections.ts";
import type { Patience } from "./session-locks.ts";
import { runOn } from "./statement.ts";

/** Result of a call that did nothing because its session is locked. It is retried. */
export const PASSED_OVER = Symbol("passed over");

/** Calls about the same subject keep their order. Times are milliseconds since the Unix epoch, on the store's clock. */
export interface Calls {
  /** Runs a command, in one transaction with others. */
  execute(command: SessionCommand): Promise<Committed<unknown> | null>;
  /**
   * Runs a change in a separate transaction, which may be rolled back and repeated. Work that locks a session
   * skips it at first (`PASSED_OVER`), and waits only with `patience` "waits", because few calls may wait at
   * once.
   */
  alone<Answer>(
    subject: string,
    work: (connection: Connection, at: number, patience: Patience) => Promise<Answer | typeof PASSED_OVER>,
  ): Promise<Answer>;
  /** Runs one statement. `at` is `null` to use the database's own time. */
  look<Answer>(
    subject: string | null,
    work: (connection: Connection, at: number | null) => Promise<Answer>,
  ): Promise<Answer>;
  /** Runs any number of statements on one snapshot of the database. `at` as in `look`. */
  read<Answer>(
    subject: string,
    work: (connection: Connection, at: number | null) => Promise<Answer>,
  ): Promise<Answer>;
}

/** Returns the ports that are written for both databases. */
export function sharedPortsOf(calls: Calls): SharedPorts {
  return sharedPorts((_name, { way, subject, work }, parameters) => {
    const about = typeof subject === "function" ? subject(...parameters) : subject;
    return calls[way](about, (connection, at) => runOn(connection, work(at as never, ...parameters)));
  });
}
