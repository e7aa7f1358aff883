// The sessions in memory within a budget of bytes, least recently used evicted first. Concurrent callers
// share loads and creations of one id.

import { randomUUID } from "node:crypto";
import { SessionDeleted } from "../core/errors.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed } from "../core/ports/driven/session-store.ts";
import type { Admit } from "../core/ports/driving/services.ts";
import { DEFAULT_APP, type SessionBirth } from "../core/session.ts";
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

/** Throws if a transaction that may create its session returned `null`, which would be a defect. */
export function assertCreated<Created>(created: Created | null): Created {
  if (created === null) throw new Error("A transaction that may create its session returned none");
  return created;
}

export interface SessionLoadsOptions {
  readonly creations: Pick<SessionCreations, "run">;
  /** Returns the session in memory if it is current; `null` otherwise. */
  readonly current: (id: string) => Promise<Session | null>;
  /**
   * Loads the session. If it does not exist, creates it under `spelling`. Returns `null` if that is `null`, or if the
   * session was deleted a short time ago.
   */
  readonly load: (id: string, spelling: string | null) => Promise<Session | null>;
}

/** The callers that share one load. */
interface Waiting {
  /** Spelling of the id by the first caller that may create the session; `null` if none may. */
  spelling: string | null;
  readonly result: PromiseWithResolvers<Session | null>;
}

/** Returns the initial values of a new session. */
export function newBirth(
  apps: Pick<AppCatalog, "get">,
  spelling: string,
  unlessDeleted: boolean,
): SessionBirth {
  const app = apps.get(DEFAULT_APP);
  if (app === null) throw new Error("The default App is missing from the catalog");
  // 48 random bits suffice, because only the incarnations of one id must differ.
  const random = randomUUID();
  return {
    incarnation: random.slice(0, 8) + random.slice(9, 13),
    model: app.models[0],
    spelling,
    unlessDeleted,
  };
}

/**
 * Loads a session once for concurrent callers. Callers that arrive during a load share the next one: the
 * current load may have read the store before they called.
 */
export class SessionLoads {
  readonly #options: SessionLoadsOptions;
  /** Callers of the next load, by the id of each session that is being loaded. */
  readonly #underWay = new Map<string, Waiting | null>();

  constructor(options: SessionLoadsOptions) {
    this.#options = options;
  }

  /**
   * Loads the session, or creates it if `admit` allows that. `existed` is true if the caller has just seen
   * the session; the load then skips the check for existence, unless the session was deleted since.
   * @throws SessionDeleted if it was deleted a short time ago
   */
  async load(id: string, admit: Admit | null, existed: boolean, spelling: string = id): Promise<Session> {
    const open = async () => {
      const session = await this.#join(id, spelling);
      if (session === null) throw new SessionDeleted();
      return session;
    };
    if (admit === null) return await open();
    const found = existed ? await this.#join(id, null) : null;
    return found ?? (await this.#options.creations.run(id, admit, open));
  }

  /** Joins the next load. Resolves with `null` if the session does not exist and no caller may create it. */
  #join(id: string, spelling: string | null): Promise<Session | null> {
    const isUnderWay = this.#underWay.has(id);
    const waiting = this.#underWay.get(id) ?? { spelling: null, result: Promise.withResolvers() };
    waiting.spelling ??= spelling;
    this.#underWay.set(id, waiting);
    if (!isUnderWay) void this.#loadUntilNobodyWaits(id, waiting);
    return waiting.result.promise;
  }

  async #loadUntilNobodyWaits(id: string, first: Waiting): Promise<void> {
    const { current, load } = this.#options;
    this.#underWay.set(id, null);
    await this.#pass(id, first, load(id, first.spelling));
    for (let next = this.#next(id); next !== null; next = this.#next(id)) {
      const { spelling } = next;
      await this.#pass(
        id,
        next,
        current(id).then((session) => session ?? load(id, spelling)),
      );
    }
    this.#underWay.delete(id);
  }

  async #pass(id: string, { result }: Waiting, loading: Promise<Session | null>): Promise<void> {
    try {
      result.resolve(await loading);
    } catch (error) {
      result.reject(error);
      // If the store is down, callers that arrived in the meantime need not wait for another time-out.
      this.#next(id)?.result.reject(error);
    }
  }

  /** Returns the callers of the next load. Later callers wait for the load after it. */
  #next(id: string): Waiting | null {
    const next = this.#underWay.get(id) ?? null;
    this.#underWay.set(id, null);
    return next;
  }
}

/**
 * Serializes creations by session id, so that a burst of requests for one new session counts once against
 * rate limits and reads the store once.
 */
export class SessionCreations {
  readonly #exists: (id: string) => Promise<boolean>;
  readonly #underWay = new Map<string, Promise<"created" | "refused" | "failed">>();

  constructor(exists: (id: string) => Promise<boolean>) {
    this.#exists = exists;
  }

  /**
   * Runs `create` if the session exists or `admit` allows its creation. Concurrent callers wait: if the first
   * one creates the session, `admit` is not called for the others; if the first one is refused, it is called
   * for the next.
   */
  async run<Created>(id: string, admit: Admit, create: () => Promise<Created>): Promise<Created> {
    for (let other = this.#underWay.get(id); other !== undefined; other = this.#underWay.get(id)) {
      const end = await other;
      if (end === "created") return await create();
      // If the store is down, callers fail together instead of waiting for one time-out each.
      if (end === "failed") return await this.#runAdmitted(id, admit, create);
    }
    return await this.#runFirst(id, admit, create);
  }

  async #runFirst<Created>(id: string, admit: Admit, create: () => Promise<Created>): Promise<Created> {
    const { promise, resolve } = Promise.withResolvers<"created" | "refused" | "failed">();
    this.#underWay.set(id, promise);
    let end: "created" | "refused" | "failed" = "failed";
    const admitNoted = async (): Promise<void> => {
      end = "refused";
      await admit();
      end = "failed";
    };
    try {
      const created = await this.#runAdmitted(id, admitNoted, create);
      end = "created";
      return created;
    } finally {
      this.#underWay.delete(id);
      resolve(end);
    }
  }

  async #runAdmitted<Created>(id: string, admit: Admit, create: () => Promise<Created>): Promise<Created> {
    if (!(await this.#exists(id))) await admit();
    return await create();
  }
}
