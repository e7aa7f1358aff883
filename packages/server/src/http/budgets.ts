// Rate-limit budgets per minute for addresses, sessions and App keys, counted in this process or by all nodes together (ADR 19).

import { ServiceError } from "../core/errors.ts";
import type { RateCounters, WindowCount } from "../core/ports/driven/rate-counters.ts";
import type { RateLimits } from "../core/rate-limits.ts";

const WINDOW_MS = 60_000;
/** Maximum number of keys in memory; the oldest windows are evicted first. */
const REMEMBERED = 100_000;

export type BudgetName =
  | "reads"
  | "sessionReads"
  | "writes"
  | "sessionWrites"
  | "chats"
  | "keyChats"
  | "repeats"
  | "secrets"
  | "keySecrets"
  | "newSessions"
  | "keyNewSessions"
  | "adminKeys";

interface BudgetRow {
  /** Name in header fields, and key prefix in shared counts. */
  readonly name: string;
  /** Description in a refusal. */
  readonly what: string;
  readonly limit: keyof RateLimits | number;
  /** True if all nodes count together. */
  readonly isShared: boolean;
  /** True if each node also counts locally, so that concurrent requests cannot pass while the shared count is pending. */
  readonly isGuarded?: boolean;
}

const BUDGETS: Readonly<Record<BudgetName, BudgetRow>> = {
  reads: { name: "reads", what: "requests", limit: "readsPerMinute", isShared: false },
  sessionReads: {
    name: "session-reads",
    what: "requests about one session",
    limit: "sessionReadsPerMinute",
    isShared: false,
  },
  writes: { name: "writes", what: "changes", limit: "writesPerMinute", isShared: true },
  sessionWrites: {
    name: "session-writes",
    what: "changes of one session",
    limit: "sessionWritesPerMinute",
    isShared: true,
  },
  chats: { name: "chats", what: "messages", limit: "chatsPerMinute", isShared: true },
  keyChats: {
    name: "key-chats",
    what: "messages of one App key",
    limit: "keyChatsPerMinute",
    isShared: true,
  },
  // As many as chats, so that guessed keys cannot query the store without limit.
  repeats: { name: "repeats", what: "repeated messages", limit: "chatsPerMinute", isShared: true },
  secrets: { name: "secrets", what: "requests about secrets", limit: "chatsPerMinute", isShared: true },
  keySecrets: {
    name: "key-secrets",
    what: "requests about secrets of one App key",
    limit: "keyChatsPerMinute",
    isShared: true,
  },
  newSessions: {
    name: "new-sessions",
    what: "new sessions",
    limit: "newSessionsPerMinute",
    isShared: true,
  },
  // The limit comes with each count.
  keyNewSessions: {
    name: "key-new-sessions",
    what: "new sessions of one App key",
    limit: "newSessionsPerMinute",
    isShared: true,
  },
  adminKeys: { name: "admin-keys", what: "wrong admin keys", limit: 10, isShared: true, isGuarded: true },
};

/** A promise only if several processes count together; a single process returns or throws synchronously. */
export type Counted = void | Promise<void>;

/** State of a budget after counting a request. */
export interface Spent {
  readonly name: string;
  readonly limit: number;
  readonly left: number;
  readonly endsInMs: number;
}

export interface BudgetOptions {
  readonly limits: RateLimits;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** `null` for a single process. */
  readonly counters: RateCounters | null;
}

export class Budgets {
  readonly #options: BudgetOptions;
  readonly #here = new Map<BudgetName, WindowCounter>();
  readonly #full: FullKeys;

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#full = new FullKeys(options.now);
  }

  limitOf(budget: BudgetName): number {
    const { limit } = BUDGETS[budget];
    return typeof limit === "number" ? limit : this.#options.limits[limit];
  }

  /**
   * Counts one for the key and records the budget's state in `spent`.
   * @throws ServiceError 429 if the budget is used up, 503 if it cannot be counted
   */
  spend(budget: BudgetName, key: string, spent: Spent[], limit: number = this.limitOf(budget)): Counted {
    return this.#look(budget, key, spent, limit, "take");
  }

  /** Like `spend` without counting: refuses if the budget is used up. */
  check(budget: BudgetName, key: string, spent: Spent[]): Counted {
    return this.#look(budget, key, spent, this.limitOf(budget) - 1, "peek");
  }

  #look(budget: BudgetName, key: string, spent: Spent[], most: number, how: "take" | "peek"): Counted {
    const { name, what, isShared, isGuarded } = BUDGETS[budget];
    const { counters } = this.#options;
    const limit = how === "take" ? most : most + 1;
    const settle = ({ count, endsInMs }: WindowCount): void => {
      spent.push({ name, limit, left: Math.max(0, limit - count), endsInMs });
      if (count > most) throw tooOften(limit, what, endsInMs);
    };
    if (!isShared || counters === null) return settle(this.#counterOf(budget)[how](key));
    if (isGuarded === true) {
      const here = this.#counterOf(budget)[how](key);
      if (here.count > most) return settle(here);
    }
    const shared = `${name} ${key}`;
    // Refuse from memory: repeated requests over the limit cost the others nothing.
    const fullMs = this.#full.leftOf(shared);
    if (fullMs > 0) return settle({ count: Infinity, endsInMs: fullMs });
    return counters[how](shared, WINDOW_MS).then((counted) => {
      if (counted.count > most) this.#full.note(shared, counted.endsInMs);
      settle(counted);
    });
  }

  #counterOf(budget: BudgetName): WindowCounter {
    let counter = this.#here.get(budget);
    if (counter === undefined) {
      counter = new WindowCounter(this.#options.now);
      this.#here.set(budget, counter);
    }
    return counter;
  }
}

interface Window {
  readonly endsAt: number;
  count: number;
}

/** Counts in memory, synchronously, so that callers commit in the same turn of the event loop. */
class WindowCounter {
  readonly #now: () => number;
  /** By start of the window. */
  readonly #windows = new Map<string, Window>();

  /** @param now Monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  take(key: string): WindowCount {
    const now = this.#now();
    this.#forget(now);
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return { count: window.count, endsInMs: window.endsAt - now };
  }

  peek(key: string): WindowCount {
    const now = this.#now();
    this.#forget(now);
    const { count, endsAt } = this.#windows.get(key) ?? { count: 0, endsAt: now + WINDOW_MS };
    return { count, endsInMs: endsAt - now };
  }

  #forget(now: number): void {
    for (const [key, window] of this.#windows) {
      if (window.endsAt > now && this.#windows.size < REMEMBERED) return;
      this.#windows.delete(key);
    }
  }
}

/** Keys with used-up shared budgets, and until when. */
class FullKeys {
  readonly #now: () => number;
  /** In insertion order. */
  readonly #until = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  leftOf(key: string): number {
    return (this.#until.get(key) ?? 0) - this.#now();
  }

  note(key: string, ms: number): void {
    const now = this.#now();
    this.#until.delete(key);
    for (const [oldest, until] of this.#until) {
      if (until > now && this.#until.size < REMEMBERED) break;
      this.#until.delete(oldest);
    }
    this.#until.set(key, now + ms);
  }
}

/** `waitMs` is the time until the next request is accepted, in milliseconds. */
function tooOften(limit: number, what: string, waitMs: number): ServiceError {
  const detail = `At most ${limit} ${what} a minute are allowed. Wait as long as Retry-After says.`;
  return new ServiceError(429, "rate_limited", detail, { headers: { "retry-after": secondsOf(waitMs) } });
}

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): each budget's quota and
 * window, and what is left for how many seconds.
 */
export function rateLimitFields(spent: readonly Spent[]): Record<"ratelimit-policy" | "ratelimit", string> {
  let policy = "";
  let state = "";
  for (const { name, limit, left, endsInMs } of spent) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${name}";q=${limit};w=${WINDOW_MS / 1000}`;
    state += `${comma}"${name}";r=${left};t=${secondsOf(endsInMs)}`;
  }
  return { "ratelimit-policy": policy, ratelimit: state };
}

function secondsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}
