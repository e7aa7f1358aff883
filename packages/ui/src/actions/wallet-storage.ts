// Storage of wallet requests and results.

import { serviceStorageKey, type KeyValueStore, type StoringPage } from "../service/tab-storage.ts";
import { ASKED, GIVEN } from "./wallet-results.ts";

/** The parts of `window` used here. */
export interface WalletPage extends StoringPage {
  readonly localStorage: KeyValueStore & Pick<Storage, "length" | "key">;
  readonly navigator: { readonly locks?: Pick<LockManager, "request"> | undefined };
  readonly addEventListener: (event: "storage", listener: () => void) => void;
  readonly removeEventListener: (event: "storage", listener: () => void) => void;
}

/** Tolerance for differing clocks; keeping a transaction for too long is harmless. */
const DAY_MS = 86_400_000;

/**
 * Returns storage shared by all tabs, separate for each service. Every access throws if the browser refuses
 * storage.
 */
export function browserStorage(page: WalletPage): KeyValueStore {
  return {
    getItem: (entry) => page.localStorage.getItem(serviceStorageKey(entry, page.location)),
    setItem: (entry, value) => page.localStorage.setItem(serviceStorageKey(entry, page.location), value),
    removeItem: (entry) => page.localStorage.removeItem(serviceStorageKey(entry, page.location)),
  };
}

/** Wraps a storage so that it never throws: refused entries are kept in memory. */
export function withMemory(storage: KeyValueStore): KeyValueStore {
  const memory = new Map<string, string>();
  return {
    getItem: (entry) => memory.get(entry) ?? orNull(() => storage.getItem(entry)),
    setItem: (entry, value) => {
      memory.delete(entry);
      try {
        storage.setItem(entry, value);
      } catch {
        memory.set(entry, value);
      }
    },
    removeItem: (entry) => {
      memory.delete(entry);
      orNull(() => storage.removeItem(entry));
    },
  };
}

/** Removes entries of actions that expired more than a day ago. */
export function removeExpired(page: WalletPage, now: Date): void {
  try {
    for (const entry of entriesOf(page.localStorage)) {
      if (!entry.startsWith(ASKED)) continue;
      const until = Date.parse(page.localStorage.getItem(entry) ?? "");
      if (until + DAY_MS > now.getTime()) continue;
      page.localStorage.removeItem(entry);
      page.localStorage.removeItem(entry.replace(ASKED, GIVEN));
    }
  } catch {
    // Storage is forbidden, so there is nothing to remove.
  }
}

function entriesOf(storage: Pick<Storage, "length" | "key">): readonly string[] {
  return Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
}

function orNull<Result>(work: () => Result): Result | null {
  try {
    return work();
  } catch {
    return null;
  }
}
