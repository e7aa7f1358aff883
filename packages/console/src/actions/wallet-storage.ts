// Where the page keeps what it asked a wallet for and what that gave.

import { nameHere, type Kept, type StoringPage } from "../connection/tab-storage.ts";
import { ASKED, GIVEN } from "./wallet-results.ts";

/** What there is of the page. */
export interface WalletPage extends StoringPage {
  readonly localStorage: Kept & Pick<Storage, "length" | "key">;
  readonly navigator: { readonly locks?: Pick<LockManager, "request"> | undefined };
  readonly addEventListener: (event: "storage", listener: () => void) => void;
  readonly removeEventListener: (event: "storage", listener: () => void) => void;
}

/** The clock of the service and that of the browser may differ; it is better to know of a transaction for too long. */
const DAY_MS = 86_400_000;

/** What all tabs of the browser share, as the page's own service has it. Throws where the browser allows none, with each use. */
export function browserStorage(page: WalletPage): Kept {
  return {
    getItem: (entry) => page.localStorage.getItem(nameHere(entry, page.location)),
    setItem: (entry, value) => page.localStorage.setItem(nameHere(entry, page.location), value),
    removeItem: (entry) => page.localStorage.removeItem(nameHere(entry, page.location)),
  };
}

/** A storage that never throws: what it does not take lasts as long as the page. */
export function withMemory(storage: Kept): Kept {
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

/** Forgets what belongs to actions that were over a day ago: no card was there to see the end of them. */
export function forgetOld(page: WalletPage, now: Date): void {
  try {
    for (const entry of entriesOf(page.localStorage)) {
      if (!entry.startsWith(ASKED)) continue;
      const until = Date.parse(page.localStorage.getItem(entry) ?? "");
      if (until + DAY_MS > now.getTime()) continue;
      page.localStorage.removeItem(entry);
      page.localStorage.removeItem(entry.replace(ASKED, GIVEN));
    }
  } catch {
    // Then nothing is kept here.
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
