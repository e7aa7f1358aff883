// Text that was deleted is overwritten in its pages (`secure_delete`), and the log goes on holding the pages from before until
// it begins anew. After a delete the log is therefore moved and cut to nothing: beside the calls, never within one.

import type { DatabaseSync } from "node:sqlite";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Call, Outcome } from "./calls.ts";
import { BUSY_TIMEOUT_MS } from "./database.ts";
import { failureOf } from "./failures.ts";
import { prepare } from "./statement.ts";

/** Deletes of this time, in milliseconds, share one checkpoint; after it the log has to grow again, which costs commits time. */
const DELAY_MS = 1000;

export interface WalErasure {
  /** To be called after every batch of calls. */
  after(calls: readonly Call[], outcomes: readonly Outcome[]): void;
  /** Cuts the log if that is due. Throws a FatalStoreError. */
  finish(): void;
}

/** `onFatal` hears of an error that must end the process. */
export function prepareWalErasure(database: DatabaseSync, onFatal: (error: unknown) => void): WalErasure {
  const cut = prepare<[], { readonly busy: number }>(database, "PRAGMA wal_checkpoint(TRUNCATE)");
  let due: NodeJS.Timeout | null = null;
  const schedule = (): void => {
    due ??= setTimeout(() => {
      due = null;
      try {
        if (!erase()) schedule();
      } catch (error) {
        onFatal(error);
      }
    }, DELAY_MS).unref();
  };
  /** Returns false where somebody else is reading the log, or the disk is full. */
  const erase = (): boolean => {
    // Never waits for other processes: calls would wait with it.
    database.exec("PRAGMA busy_timeout = 0");
    try {
      return cut.get()?.busy === 0;
    } catch (error) {
      failureOf(error);
      return false;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  };
  // What a process that was killed has left.
  schedule();
  return {
    after(calls, outcomes) {
      if (calls.some((call, index) => removes(call) && "value" in (outcomes[index] ?? {}))) schedule();
    },
    finish() {
      if (due === null) return;
      clearTimeout(due);
      erase();
    },
  };
}

function removes({ method, parameters: [command] }: Call): boolean {
  if (method === "sessions.expire") return true;
  return method === "execute" && (command as SessionCommand).kind === "delete";
}
