// Rate-limit budgets per minute for addresses, sessions and App keys, counted in this process or by all nodes
// together (ADR 19).

import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { RateCounters, WindowCount } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import type { RateLimits } from "@colloquy/engine/internal/core/rate-limits";

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

/** Bytes are counted in KiB, because shared counts have 32 bits. */
const KIB = 1024;

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
  "written-bytes": { what: "bytes", limit: "writtenBytesPerMinute" },
  "app-written-bytes": { what: "bytes of one App", limit: "appWrittenBytesPerMinute" },
  "admin-keys": { what: "wrong admin keys", limit: 10, isGuarded: true },
} as const satisfies Readonly<Record<string, Budget>>;

export type BudgetName = keyof typeof BUDGETS;
export type BytesBudget = "written-bytes" | "app-written-bytes";
export type CountBudget = Exclude<BudgetName, BytesBudget>;

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
  readonly isBytes?: boolean;
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
  spend(budget: CountBudget, key: string, spent: Spent[], limit: number = this.limitOf(budget)): Counted {
    return this.#look(budget, key, spent, limit, "take");
  }

  /** Like `spend` without counting: refuses if the budget is used up. */
  check(budget: CountBudget, key: string, spent: Spent[]): Counted {
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

  /**
   * Counts bytes for the key. What does not fit into the rest of the budget is not counted, so that smaller requests still pass.
   * @throws ServiceError 429 if they do not fit, 503 if they cannot be counted
   */
  spendBytes(
    name: BytesBudget,
    key: string,
    spent: Spent[],
    bytes: number,
    limit: number = this.limitOf(name),
  ): Counted {
    const [amount, most] = [Math.ceil(bytes / KIB), Math.floor(limit / KIB)];
    const settle = ({ count, endsInMs }: WindowCount): void => {
      const isRefused = count > most;
      const used = (isRefused ? count - amount : count) * KIB;
      // A request may be charged several times, and reports each budget once.
      const earlier = spent.findIndex((other) => other.name === name);
      const left = Math.max(0, limit - used);
      spent.splice(earlier < 0 ? spent.length : earlier, 1, { name, limit, left, endsInMs, isBytes: true });
      if (isRefused) throw tooMuch(limit, BUDGETS[name].what, bytes, endsInMs);
    };
    const { counters } = this.#options;
    if (counters === null) {
      const windows = this.#windowsOf(name);
      const counted = windows.take(key, amount);
      if (counted.count > most) this.giveBack(name, key, bytes);
      return settle(counted);
    }
    return counters.take(`${name} ${key}`, WINDOW_MS, amount).then((counted) => {
      if (counted.count > most) this.giveBack(name, key, bytes);
      settle(counted);
    });
  }

  /** Gives back bytes that were counted and are not stored. */
  giveBack(name: BytesBudget, key: string, bytes: number): void {
    const amount = Math.ceil(bytes / KIB);
    const { counters } = this.#options;
    if (counters === null) this.#windowsOf(name).giveBack(key, amount);
    // If that fails, the count ends with its window.
    else counters.take(`${name} ${key}`, WINDOW_MS, -amount).catch(() => undefined);
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

  take(key: string, amount = 1): WindowCount {
    const now = this.#now();
    let window = this.#find(key, now);
    if (window === undefined) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      this.#add(key, window, now);
    }
    window.count += amount;
    return { count: window.count, endsInMs: window.endsAt - now };
  }

  /** Lowers the count, unless its window has ended. */
  giveBack(key: string, amount: number): void {
    const window = this.#find(key, this.#now());
    if (window !== undefined) window.count = Math.max(0, window.count - amount);
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

/** Like `tooOften`, for a request that would store `bytes`. */
function tooMuch(limit: number, what: string, bytes: number, waitMs: number): ServiceError {
  const advice =
    bytes > limit
      ? "Store less: a copy can end with an earlier message."
      : "Wait as long as Retry-After says.";
  const detail = `At most ${limit} ${what} can be stored a minute, and this request needs ${bytes}. ${advice}`;
  return new ServiceError(429, "rate_limited", detail, { headers: { "retry-after": secondsOf(waitMs) } });
}

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10):
 * quota and window of each budget, and its remaining requests (or bytes) and seconds.
 */
export function rateLimitFields(spent: readonly Spent[]): Record<"ratelimit-policy" | "ratelimit", string> {
  let policy = "";
  let state = "";
  for (const { name, limit, left, endsInMs, isBytes = false } of spent) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${name}";q=${limit};w=${WINDOW_MS / 1000}${isBytes ? ';qu="content-bytes"' : ""}`;
    state += `${comma}"${name}";r=${left};t=${secondsOf(endsInMs)}`;
  }
  return { "ratelimit-policy": policy, ratelimit: state };
}

function secondsOf(ms: number): string {
  // Round first: floating-point subtraction may exceed the window by a fraction of a millisecond.
  return String(Math.max(1, Math.ceil(Math.round(ms) / 1000)));
}
