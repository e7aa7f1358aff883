// The sessions in memory within a budget of bytes, least recently used evicted first.

import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed } from "../core/ports/driven/session-store.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { Session } from "./session.ts";

/** Approximate memory of a session beside its snapshot's bytes. */
const OVERHEAD_BYTES = 4096;
/** Separate budget of empty sessions, so that a flood of requests with random ids evicts no conversation. */
const MAX_EMPTY = 2048;

export interface SessionCacheOptions {
  /** Maximum bytes of the snapshots in memory, with overhead. */
  readonly budgetBytes: number;
  /** An unused session is evicted after this many milliseconds. */
  readonly idleMs: number;
  readonly clock: Pick<Clock, "monotonic">;
  readonly running: Pick<RunningTurns, "isRunning">;
  readonly hub: Pick<EventHub, "evicted">;
  readonly logger: Logger;
}

interface Entry {
  readonly session: Session;
  weight: number;
  /** Monotonic milliseconds. */
  usedAt: number;
}

export class SessionCache {
  readonly #options: SessionCacheOptions;
  /** Sessions in the order of use, least recently used first. */
  readonly #filled = new Map<string, Entry>();
  readonly #empty = new Map<string, Entry>();
  /**
   * The most recently used entry, which need not move in its Map. Moves make a Map rehash regularly, which
   * slows down polling.
   */
  #newest: Entry | null = null;
  #weight = 0;

  constructor(options: SessionCacheOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#filled.size + this.#empty.size;
  }

  /** Bytes of the snapshots in memory, with overhead. */
  get weight(): number {
    return this.#weight;
  }

  has(id: string): boolean {
    return this.peek(id) !== undefined;
  }

  /** Returns the session without counting this as use. */
  peek(id: string): Session | undefined {
    return (this.#filled.get(id) ?? this.#empty.get(id))?.session;
  }

  get(id: string): Session | undefined {
    const filled = this.#filled.get(id);
    const entry = filled ?? this.#empty.get(id);
    if (entry === undefined) return undefined;
    entry.usedAt = this.#options.clock.monotonic();
    if (entry !== this.#newest) {
      const entries = filled === undefined ? this.#empty : this.#filled;
      entries.delete(id);
      entries.set(id, entry);
      this.#newest = entry;
    }
    return entry.session;
  }

  /** Adds a session, or updates its weight after it changed. */
  put(session: Session): void {
    this.delete(session.id);
    const weight = session.weight + OVERHEAD_BYTES;
    const entry = { session, weight, usedAt: this.#options.clock.monotonic() };
    this.#weight += weight;
    (session.isEmpty ? this.#empty : this.#filled).set(session.id, entry);
    this.#newest = entry;
    this.#evict();
  }

  /** Updates the weight of a session, unless the cache has another object for its id. */
  weigh(session: Session): void {
    if (this.peek(session.id) === session) this.put(session);
  }

  delete(id: string): void {
    for (const entries of [this.#filled, this.#empty]) {
      const entry = entries.get(id);
      if (entry === undefined) continue;
      entries.delete(id);
      if (entry === this.#newest) this.#newest = null;
      this.#weight -= entry.weight;
    }
  }

  /** Applies a commit. Returns false, and drops the session, if the events do not follow its last one. */
  applyCommit(session: Session, { session: record, events }: Committed<unknown>): boolean {
    if (session.incarnation !== record.incarnation) session.end();
    else if (session.apply(events)) return true;
    else session.replace();
    this.delete(record.id);
    const fields = { session: record.id };
    this.#options.logger.warn(fields, "a session in memory fell behind its log; it is loaded again");
    return false;
  }

  /** Drops a session that fell behind; the next caller loads it again. */
  replace(session: Session): void {
    if (this.peek(session.id) === session) this.delete(session.id);
    session.replace();
  }

  /** Drops a deleted incarnation. */
  end(id: string, incarnation: string): void {
    const session = this.peek(id);
    if (session?.incarnation !== incarnation) return;
    this.delete(id);
    session.end();
  }

  /** Returns all sessions that are in memory now. */
  sessions(): readonly Session[] {
    return [...this.#filled.values(), ...this.#empty.values()].map(({ session }) => session);
  }

  /** Evicts sessions that were not used for `idleMs`. */
  dropIdle(): void {
    const before = this.#options.clock.monotonic() - this.#options.idleMs;
    for (const entries of [this.#filled, this.#empty]) {
      for (const entry of entries.values()) {
        if (entry.usedAt > before) break;
        if (this.#isEvictable(entry.session)) this.#evictOne(entry.session);
      }
    }
  }

  #evict(): void {
    const { budgetBytes } = this.#options;
    for (const session of this.#evictable(this.#empty)) {
      if (this.#empty.size <= MAX_EMPTY) break;
      this.#evictOne(session);
    }
    if (this.#weight <= budgetBytes) return;
    for (const entries of [this.#empty, this.#filled]) {
      for (const session of this.#evictable(entries)) {
        if (this.#weight <= budgetBytes) return;
        this.#evictOne(session);
      }
    }
  }

  *#evictable(entries: ReadonlyMap<string, Entry>): Generator<Session> {
    for (const { session } of entries.values()) if (this.#isEvictable(session)) yield session;
  }

  #evictOne(session: Session): void {
    this.delete(session.id);
    this.#options.hub.evicted(session.id);
  }

  /**
   * Returns true if the session may be evicted. A session whose turn runs here must stay, because only memory
   * has its streaming text; so must one on which requests wait.
   */
  #isEvictable(session: Session): boolean {
    const isStreamingHere = session.isStreaming && this.#options.running.isRunning(session.key);
    return !session.hasWaiters && !isStreamingHere;
  }
}
