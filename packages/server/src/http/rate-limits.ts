// How often an address may ask (contract section 6). A count a window, kept in memory: it answers at once, since whoever asks
// goes on to a commit in the same turn of the event loop, and its clock is given, so that a test need not wait. Where several processes
// count together, shared-rate-limits.ts does.

import { ServiceError } from "../core/errors.ts";

export interface RateLimits {
  /** By App key, else by address. */
  readonly chatsPerMinute: number;
  /** By address. */
  readonly newSessionsPerMinute: number;
  /** Open at the same time, by address. */
  readonly streamsPerAddress: number;
}

export const CONTRACT_RATE_LIMITS: RateLimits = {
  chatsPerMinute: 60,
  newSessionsPerMinute: 20,
  streamsPerAddress: 100,
};

/** Open at the same time, by session. A process that is alone has them all in its feed, which counts them itself. */
export const STREAMS_PER_SESSION = 10;

export const WINDOW_MS = 60_000;
/** Addresses remembered at most; beyond that the oldest windows are forgotten, so that memory stays bounded. */
export const REMEMBERED = 100_000;

interface Window {
  readonly since: number;
  count: number;
}

/** Lets each key through a number of times a minute. */
export class WindowLimiter {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #remembered: number;
  /** In the order in which the windows began. */
  readonly #windows = new Map<string, Window>();

  /** `now` in milliseconds, monotonic. */
  constructor(limit: number, now: () => number, remembered = REMEMBERED) {
    this.#limit = limit;
    this.#now = now;
    this.#remembered = remembered;
  }

  /** @throws ServiceError 429 when the key had its number already */
  mustBeOpen(key: string, what: string): void {
    const now = this.#now();
    this.#forget(now);
    const window = this.#windows.get(key);
    if (window === undefined || window.count < this.#limit) return;
    throw tooOften(this.#limit, what, window.since + WINDOW_MS - now);
  }

  /** Counts one for the key. @throws ServiceError 429 when it had its number already */
  take(key: string, what: string): void {
    const now = this.#now();
    this.#forget(now);
    const window = this.#windows.get(key);
    if (window === undefined) {
      this.#windows.set(key, { since: now, count: 1 });
      return;
    }
    if (window.count >= this.#limit) throw tooOften(this.#limit, what, window.since + WINDOW_MS - now);
    window.count += 1;
  }

  #forget(now: number): void {
    for (const [key, window] of this.#windows) {
      if (window.since + WINDOW_MS > now && this.#windows.size < this.#remembered) return;
      this.#windows.delete(key);
    }
  }
}

/** Lets each key hold a number of places at the same time. */
export class PlaceLimiter {
  readonly #limit: number;
  readonly #held = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a place. @throws ServiceError 429 when the key holds its number already */
  take(key: string, what: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held >= this.#limit) throw noPlaceLeft(this.#limit, what);
    this.#held.set(key, held + 1);
  }

  give(key: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held <= 1) this.#held.delete(key);
    else this.#held.set(key, held - 1);
  }
}

/**
 * What an address counts as: one customer has a whole /64 of IPv6 (RFC 6177), so counting single addresses would count
 * nobody. `undefined` is the address of a client that has gone already.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "";
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - last.length)).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

/** `waitMs` in milliseconds, until the next one is let through. */
export function tooOften(limit: number, what: string, waitMs: number): ServiceError {
  const detail = `At most ${limit} ${what} a minute are allowed. Wait as long as Retry-After says.`;
  return new ServiceError(429, "rate_limited", detail, after(waitMs));
}

export function noPlaceLeft(limit: number, what: string): ServiceError {
  const detail = `At most ${limit} ${what} are allowed at the same time. Close one first.`;
  return new ServiceError(429, "rate_limited", detail, after(10_000));
}

/** In the words of the feed, which says the same of the streams of one process. */
export function tooManyStreams(limit: number): ServiceError {
  const detail = `This session has ${limit} open event streams. Close one of them, or share one between readers.`;
  return new ServiceError(429, "too_many_streams", detail, after(10_000));
}

function after(ms: number): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { "retry-after": String(Math.max(1, Math.ceil(ms / 1000))) } };
}
