// The store of the configured data directory, opened beside a running server or without one (contract section 7), for the commands
// that administer.

import { createSystemClock } from "./clock.ts";
import type { Store } from "./core/ports/store.ts";
import { openSqliteStore } from "./store/sqlite/open.ts";

export interface Administration {
  readonly store: Store;
  /** Finishes what was begun and closes. */
  close(): Promise<void>;
}

/** Rejects with an Error that says what to do when the data directory cannot be used. A call that a lying disk fails rejects by itself. */
export async function openAdministration(dataDirectory: string): Promise<Administration> {
  const store = await openSqliteStore({
    directory: dataDirectory,
    role: "administration",
    clock: createSystemClock(),
    onFatal: () => {},
  });
  return { store, close: () => store.close() };
}
