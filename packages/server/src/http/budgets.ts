// Rate-limit budgets per minute for addresses, sessions and App keys, counted in this process or by all nodes
// together (ADR 19).

import { ServiceError } from "../core/errors.ts";
import type { RateCounters, WindowCount } from "../core/ports/driven/rate-counters.ts";
import type { RateLimits } from "../core/rate-limits.ts";

const WINDOW_MS = 60_000;
/** Maximum number of keys in memory; the oldest windows are evicted first. */
const REMEMBERED = 100_000;

interface Budget {
  /** Noun for the limited requests in error details. */
  readonly what: string;
  readonly limit: keyof RateLimits | number;
  /** True if each node counts by itself. */
  readonly isLocal?: boolean;
  /** True if each node also counts locally, so that concurrent requests cannot pass while the shared count is pending. */
  readonly isGuarded?: boolean;
}

/** Budgets by their name in header fields, which is also the key prefix in shared counts. */
const BUDGETS = {
  reads: { what: "requests", limit: "readsPerMinute", isLocal: true },
  "session-reads": { what: "requests about one session", limit: "sessionReadsPerMinute", isLocal: true },
  writes: { what: "changes", limit: "writesPerMinute" },
  "session-writes": { what: "changes of one session", limit: "sessionWritesPerMinute" },
  // The caller passes the limit, a multiple of `chatsPerMinute`.
  bodies: { what: "MiB of requests with messages or secrets", limit: "chatsPerMinute", isLocal: true },
  chats: { what: "messages", limit: "chatsPerMinute" },
  "key-chats": { what: "messages of one App key", limit: "keyChatsPerMinute" },
  // Each repeat reads the store, so requests with guessed idempotency keys are limited like chats.
  repeats: { what: "repeated messages", limit: "chatsPerMinute" },
  secrets: { what: "requests about secrets", limit: "chatsPerMinute" },
  "key-secrets": { what: "requests about secrets of one App key", limit: "keyChatsPerMinute" },
  "new-sessions": { what: "new sessions", limit: "newSessionsPerMinute" },
  // The caller passes the limit: the key's own, if it has one.
  "key-new-sessions": { what: "new sessions of one App key", limit: "newSessionsPerMinute" },
  "admin-keys": { what: "wrong admin keys", limit: 10, isGuarded: true },
} as const satisfies Readonly<Record<string, Budget>>;

export type BudgetName = keyof typeof BUDGETS;

/**
 * Result of counting. A single process counts synchronously, so that a poll allocates no promise; several
 * nodes return a promise.
 */
export type Counted = void | Promise<void>;

/** State of a budget after counting a request. */
export interface Spent {
  readonly name: string;
  readonly limit: number;
  readonly left: number;
  readonly endsInMs: number;
}

interface BudgetOptions {
  readonly limits: RateLimits;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** `null` for a single process. */
  readonly counters: RateCounters | null;
}

export class Budgets {
  readonly #options: BudgetOptions;
  readonly #here = new Map<BudgetName, Windows>();
  /** Exhausted shared budgets, cached until their windows end. */
  readonly #full: Windows;

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#full = new Windows(options.now);
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

  #look(name: BudgetName, key: string, spent: Spent[], most: number, how: "take" | "peek"): Counted {
    const { what, isLocal = false, isGuarded = false }: Budget = BUDGETS[name];
    const { counters } = this.#options;
    const limit = how === "take" ? most : most + 1;
    const settle = ({ count, endsInMs }: WindowCount): void => {
      spent.push({ name, limit, left: Math.max(0, limit - count), endsInMs });
      if (count > most) throw tooOften(limit, what, endsInMs);
    };
    if (isLocal || counters === null) return settle(this.#windowsOf(name)[how](key));
    if (isGuarded) {
      const here = this.#windowsOf(name)[how](key);
      if (here.count > most) return settle(here);
    }
    const shared = `${name} ${key}`;
    // Refuse from memory, so that repeated requests beyond the limit cost the other nodes nothing.
    const full = this.#full.peek(shared);
    if (full.count > 0) return settle(full);
    return counters[how](shared, WINDOW_MS).then((counted) => {
      if (counted.count > most) this.#full.fill(shared, counted.endsInMs);
      settle(counted);
    });
  }

  #windowsOf(budget: BudgetName): Windows {
    let windows = this.#here.get(budget);
    if (windows === undefined) {
      windows = new Windows(this.#options.now);
      this.#here.set(budget, windows);
    }
    return windows;
  }
}

/** Counts in memory and synchronously, so that all counts of a request happen in one tick of the event loop. */
class Windows {
  readonly #now: () => number;
  /** Windows in insertion order, in which they are evicted. */
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  take(key: string): WindowCount {
    const now = this.#now();
    let window = this.#find(key, now);
    if (window === undefined) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      this.#add(key, window, now);
    }
    window.count += 1;
    return { count: window.count, endsInMs: window.endsAt - now };
  }

  peek(key: string): WindowCount {
    const now = this.#now();
    const { count, endsAt } = this.#find(key, now) ?? { count: 0, endsAt: now + WINDOW_MS };
    return { count, endsInMs: endsAt - now };
  }

  /** Makes the key's count infinite for `ms` milliseconds. */
  fill(key: string, ms: number): void {
    const now = this.#now();
    this.#add(key, { endsAt: now + ms, count: Infinity }, now);
  }

  #find(key: string, now: number) {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAt > now ? window : undefined;
  }

  #add(key: string, window: { readonly endsAt: number; count: number }, now: number): void {
    this.#windows.delete(key);
    for (const [oldest, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size < REMEMBERED) break;
      this.#windows.delete(oldest);
    }
    this.#windows.set(key, window);
  }
}

/**
 * Returns the error for a request beyond a limit. `waitMs` is the time until the next request is accepted, in
 * milliseconds.
 */
function tooOften(limit: number, what: string, waitMs: number): ServiceError {
  const detail = `At most ${limit} ${what} a minute are allowed. Wait as long as Retry-After says.`;
  return new ServiceError(429, "rate_limited", detail, { headers: { "retry-after": secondsOf(waitMs) } });
}

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10):
 * quota and window of each budget, and its remaining requests and seconds.
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
  // Round first: floating-point subtraction may exceed the window by a fraction of a millisecond.
  return String(Math.max(1, Math.ceil(Math.round(ms) / 1000)));
}
