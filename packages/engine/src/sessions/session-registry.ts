// Executes commands on sessions. Applies every commit to memory and then publishes it, in commit order. Finds
// sessions in memory or in the store, and creates missing ones. Concurrent callers share one load or creation.

import { randomUUID } from "node:crypto";
import { logAudit } from "../core/audit.ts";
import type { SessionTarget } from "../core/commands/command.ts";
import { sessionOf } from "../core/commands/decide.ts";
import type { AnswerOf, OutcomeOf, SessionCommand } from "../core/commands/index.ts";
import {
  OtherApp,
  OutcomeUnknown,
  SessionDeleted,
  Unavailable,
  unknownSession,
  walletNotProved,
} from "../core/errors.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { EventHub, StreamingText } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type {
  Committed,
  SessionStore,
  SessionUse,
  SessionVersion,
} from "../core/ports/driven/session-store.ts";
import type { CommandStore, JobStore } from "../core/ports/driven/store.ts";
import type { Admit, NewSessionOptions } from "../core/ports/driving/services.ts";
import {
  hiddenFrom,
  type HiddenReason,
  type RefusalReason,
  type SessionAccess,
} from "../core/session-access.ts";
import { DEFAULT_APP, type SessionBirth, type SessionRecord } from "../core/session.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { ReplicaSync } from "./replica-sync.ts";
import type { SessionCache } from "./session-cache.ts";
import { type Moment, momentOf, USE_RECORDED_MS, Session } from "./session.ts";

const IDLE_CHECK_MS = 60_000;
const MAX_LOADS = 3;
const NO_CHANGE = { userState: null, publicKey: null };

export interface SessionRegistryOptions {
  readonly store: CommandStore & {
    readonly sessions: Pick<SessionStore, "find">;
    readonly jobs: Pick<JobStore, "wasDeleted">;
  };
  readonly hub: Pick<EventHub, "publish" | "answerLoaded">;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info">;
  readonly cache: SessionCache;
  /** `null` if no other process changes the store: memory is always current then. */
  readonly sync: Pick<ReplicaSync, "toNow" | "toHead"> | null;
  readonly running: Pick<RunningTurns, "isRunning" | "supersede">;
  /** The first model of the default App is the model of a new session. */
  readonly apps: Pick<AppCatalog, "get">;
}

/** A commit that was applied, with the session after it; `null` if the session is not in memory. */
export interface Applied<Outcome> {
  readonly outcome: Outcome;
  readonly record: SessionRecord;
  readonly created: boolean;
  readonly session: Session | null;
}

type Untargeted<C> = C extends { readonly target: SessionTarget } ? Omit<C, "target"> : never;
/** A command on a session, without its target. */
type UntargetedCommand = Untargeted<SessionCommand>;

export class SessionRegistry {
  readonly #options: SessionRegistryOptions;
  readonly #creations: SessionCreations;
  readonly #loads: SessionLoads;
  readonly #idleCheck: Timer;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
    this.#creations = new SessionCreations(async (id) => (await options.store.sessions.find(id)) !== null);
    this.#loads = new SessionLoads({
      creations: this.#creations,
      current: (id) => this.#current(id),
      load: (id, spelling) => this.#load(id, spelling),
    });
    this.#idleCheck = options.clock.every(IDLE_CHECK_MS, () => options.cache.dropIdle());
  }

  stop(): void {
    this.#idleCheck.stop();
  }

  /**
   * Executes a command on an existing session or turn. Returns `null` if the target does not exist.
   * @throws NotFound or OtherApp if the target's access hides the session, which is then unchanged
   */
  async execute<C extends SessionCommand>(command: C): Promise<Applied<OutcomeOf<C["kind"]>> | null> {
    const applied = await this.#commit(command);
    const { target } = command;
    return applied && this.#shown(applied, "access" in target ? target.access : null);
  }

  /**
   * Executes a command on a session, and creates the session if it does not exist and `creation` allows it. With
   * `unlessDeleted`, a recently deleted session is not created again.
   * @throws NotFound or OtherApp if `access` hides the session, which is then unchanged; SessionDeleted
   */
  async executeOrCreate<C extends UntargetedCommand>(
    id: string,
    access: SessionAccess,
    creation: NewSessionOptions,
    command: C,
    { unlessDeleted = false } = {},
  ): Promise<Applied<Exclude<OutcomeOf<C["kind"]>, RefusalReason>>> {
    const { admit = null, spelling = id } = creation ?? {};
    const run = async (birth: SessionBirth | null) => {
      const target = { session: id, birth, load: this.inMemory(id) === null, access };
      return await this.#caughtUp(await this.#commit<C["kind"]>({ ...command, target }));
    };
    const runCreating = async () => {
      const done = await run(newBirth(this.#options.apps, spelling, unlessDeleted));
      if (done === null && unlessDeleted) throw new SessionDeleted();
      return assertCreated(done);
    };
    // Fast path: the creation needs no admission, or the session is known to exist.
    if (admit === null || this.peekCurrent(id) !== null) return this.#shown(await runCreating(), access);
    // Another process may have deleted the session. Creating it again requires admission.
    const done = this.inMemory(id) === null ? null : await run(null);
    const admitted = unlessDeleted ? this.#unlessDeleted(id, admit) : admit;
    return this.#shown(done ?? (await this.#creations.run(id, admitted, runCreating)), access);
  }

  /** Wraps `admit`, so that a recently deleted session does not count against rate limits. */
  #unlessDeleted(id: string, admit: Admit): Admit {
    return async () => {
      if (await this.#options.store.jobs.wasDeleted(id)) throw new SessionDeleted();
      await admit();
    };
  }

  /** Executes a command, and applies and publishes its commit. Returns `null` if the target does not exist. */
  async #commit<K extends SessionCommand["kind"]>(
    command: SessionCommand & { readonly kind: K },
  ): Promise<Applied<AnswerOf<K>> | null> {
    const id = sessionOf(command);
    const usedAt = momentOf(this.#options.clock);
    const change = this.#options.store.execute(command);
    this.#invalidateOnUnknownOutcome(id, change);
    const committed = await change;
    if (committed === null) return null;
    // A refused command has no events; `#shown` throws.
    const applied = this.apply(committed, usedAt);
    // This must precede any commit of the next incarnation.
    if (command.kind === "delete" && committed.outcome === "ok")
      this.remove(id, committed.session.incarnation);
    return applied;
  }

  /** Only PostgreSQL can lose the outcome of a commit. */
  #invalidateOnUnknownOutcome(id: string, change: Promise<unknown>): void {
    change.catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) this.invalidate(id);
    });
  }

  /**
   * Applies a commit to memory, then publishes it. Must be called in commit order, without an await after the commit.
   * `usedAt` is a time before the transaction; with `null`, the commit does not count as recorded use.
   */
  apply<Outcome>(committed: Committed<Outcome>, usedAt: Moment | null = null): Applied<Outcome> {
    const { session: record, events, loaded } = committed;
    const { cache, hub, running, logger } = this.#options;
    const known = this.inMemory(record.id);
    let session = known !== null && cache.applyCommit(known, committed) ? known : null;
    let streaming: StreamingText | null = null;
    if (session === null && loaded !== null) {
      session = new Session(loaded);
      streaming = session.streaming;
    }
    if (session !== null) {
      // A commit that changes a session also records its use.
      if (usedAt !== null && (committed.created || events.length > 0)) session.noteUse(usedAt);
      session.noteEpoch(record.epoch);
    }
    const { incarnation, epoch } = record;
    if (events.length > 0) hub.publish(record.id, { kind: "events", incarnation, epoch, events });
    // Text that streams on another node is read on demand.
    if (session !== null && streaming !== null && (this.#isMemoryCurrent || running.isRunning(session.key)))
      hub.answerLoaded(session, streaming);
    // Must come last: the cache may evict the session at once, and its published text with it.
    if (session !== null) cache.put(session);
    // An interrupt, a newer start or its own `wait` has raised the epoch: the old run in this process stops here.
    running.supersede(record.key, epoch);
    logAudit(logger, committed.audited);
    if (session !== null) this.#catchUpLater(session, record.head);
    return { outcome: committed.outcome, record, created: committed.created, session };
  }

  /** Drops a deleted incarnation and publishes its deletion. */
  remove(id: string, incarnation: string): void {
    this.#options.cache.end(id, incarnation);
    this.#options.hub.publish(id, { kind: "deleted", incarnation });
  }

  /** Returns the commit; throws if the command was refused. */
  #shown<Outcome>(
    applied: Applied<Outcome>,
    access: SessionAccess | null,
  ): Applied<Exclude<Outcome, RefusalReason>> {
    const refused = refusedIn(applied);
    if (refused !== null) throw this.hidden(applied.record.id, access, refused);
    return applied as Applied<Exclude<Outcome, RefusalReason>>;
  }

  /**
   * Returns the error for a session that `access` hides. Invalidates an outdated copy in memory, so that a retry
   * reloads it.
   */
  hidden(id: string, access: SessionAccess | null, reason: RefusalReason): Error {
    const session = this.peekCurrent(id);
    if (session !== null && hiddenInMemory(session, access) === null) this.invalidate(id);
    return hiddenError(reason);
  }

  /** Applies a notification of another process. Events that arrive too early are buffered, and gaps are read from the store. */
  applyRemote(id: string, notification: Extract<SessionNotification, { kind: "events" | "moved" }>): void {
    const session = this.ofIncarnation(id, notification.incarnation);
    if (session === null) return;
    session.noteEpoch(notification.epoch);
    if (notification.kind === "events") {
      session.apply(notification.events);
      this.#options.cache.weigh(session);
    }
    const head = notification.kind === "moved" ? notification.head : notification.events.at(-1)?.number;
    this.#catchUpLater(session, head ?? 0);
  }

  /**
   * Catches the session up, and returns the commit; `null` if the session cannot catch up. Never rejects, because the
   * change is committed.
   */
  async #caughtUp<Outcome>(applied: Applied<Outcome> | null): Promise<Applied<Outcome> | null> {
    if (applied === null || applied.session === null) return applied;
    const isCurrent = await this.#catchUp(applied.session, applied.record.head).catch(() => false);
    return isCurrent ? applied : { ...applied, session: null };
  }

  /** Starts reading earlier events of other processes, without waiting. Callers that need a current session check it themselves. */
  #catchUpLater(session: Session, head: number): void {
    this.#catchUp(session, head).catch(() => undefined);
  }

  /** Reads the events up to `head` that other processes committed. Returns false if the session cannot catch up, and drops it. */
  async #catchUp(session: Session, head: number): Promise<boolean> {
    const { cache, sync } = this.#options;
    if (sync === null || session.head >= head) return true;
    const isCurrent = await sync.toHead(session, head);
    if (isCurrent) cache.weigh(session);
    else cache.replace(session);
    return isCurrent;
  }

  /** Makes the next caller load the session again, because memory may lack a commit. */
  invalidate(id: string): void {
    const session = this.#options.cache.peek(id);
    if (session !== undefined) this.#options.cache.replace(session);
  }

  /** Like `invalidate`, for all sessions, because memory may have commits that the store has lost. */
  invalidateAll(): void {
    const { cache } = this.#options;
    for (const session of cache.sessions()) cache.replace(session);
  }

  /** Like `invalidate`, for all sessions with pending actions. */
  invalidateWaiting(): void {
    const { cache } = this.#options;
    for (const session of cache.sessions()) if (session.hasPendingActions) cache.replace(session);
  }

  /**
   * Returns the session, and creates it if it does not exist. The user becomes the owner of an empty session. Records
   * the session's use before it resolves. `version` is the session's version, if the caller has read it for this
   * request.
   * @throws NotFound if it belongs to another user; SessionDeleted if it was deleted recently
   */
  async get(
    id: string,
    access: SessionAccess,
    creation: NewSessionOptions,
    version: SessionVersion | null = null,
  ): Promise<Session> {
    const session = await this.#used(id, creation, version);
    return session.isOpenTo(access) ? session : await this.#claimed(session, access);
  }

  /**
   * Creates the session if it does not exist, unless it was deleted recently. Sets no owner: a session that was used
   * only by requests for lists must not appear in the user's list.
   * @throws NotFound if it belongs to another user
   */
  async ensure(id: string, access: SessionAccess, creation: NewSessionOptions): Promise<void> {
    try {
      assertShown(await this.#used(id, creation, null), access);
    } catch (error) {
      if (!(error instanceof SessionDeleted)) throw error;
    }
  }

  /** Returns the session, which it creates if it does not exist, and records its use. */
  async #used(id: string, creation: NewSessionOptions, version: SessionVersion | null): Promise<Session> {
    const { admit = null, spelling = id } = creation ?? {};
    const known = await this.#current(id, version);
    const isUsable = known !== null && (known.isUseNoted(this.#options.clock) || (await this.#touch(known)));
    const existed = known === null && version !== null;
    const admitted = admit === null ? null : this.#unlessDeleted(id, admit);
    return isUsable ? known : await this.#loads.load(id, admitted, existed, spelling);
  }

  /** Makes the user the owner of an empty session, and returns it. */
  async #claimed(session: Session, access: SessionAccess): Promise<Session> {
    assertShown(session, access);
    if (session.owner !== null) return session;
    const target = { session: session.id, birth: null, load: true, access };
    const applied = await this.execute({ kind: "open", target, input: NO_CHANGE });
    if (applied === null) throw unknownSession();
    return applied.session ?? session;
  }

  /** Returns the session of an existing id; `null` if it does not exist. */
  async find(id: string): Promise<Session | null> {
    return (await this.#current(id)) ?? (await this.#load(id, null));
  }

  /** Records the use of a session that was read from the store, unless it was recorded recently. */
  async noteUse({ id, incarnation, unusedMs }: SessionUse): Promise<void> {
    if (unusedMs >= USE_RECORDED_MS) await this.#touch({ id, incarnation });
  }

  /** Records the use of an incarnation. Returns false if the incarnation was deleted, and drops it. */
  async #touch({ id, incarnation }: { readonly id: string; readonly incarnation: string }): Promise<boolean> {
    const usedAt = momentOf(this.#options.clock);
    const target = { session: id, incarnation };
    const noted = await this.#options.store.execute({ kind: "noteUse", target, input: null });
    if (noted === null) this.remove(id, incarnation);
    else this.ofIncarnation(id, incarnation)?.noteUse(usedAt);
    return noted !== null;
  }

  /** Returns the session if it is in memory and current, and its use need not be recorded now. Counts as use. */
  getSync(id: string): Session | null {
    const session = this.#isMemoryCurrent ? this.inMemory(id) : null;
    return session?.isUseNoted(this.#options.clock) === true ? session : null;
  }

  /** Returns the session if it is in memory, however long ago its use was recorded. */
  inMemory(id: string): Session | null {
    return this.#options.cache.get(id) ?? null;
  }

  /** Returns the session if it is in memory and current. Does not count as use. */
  peekCurrent(id: string): Session | null {
    return this.#isMemoryCurrent ? (this.#options.cache.peek(id) ?? null) : null;
  }

  /** Returns the session if this incarnation is in memory. Does not count as use. */
  ofIncarnation(id: string, incarnation: string): Session | null {
    const session = this.#options.cache.peek(id);
    return session?.incarnation === incarnation ? session : null;
  }

  /** True if sessions in memory need not be compared with the store. */
  get #isMemoryCurrent(): boolean {
    return this.#options.sync === null;
  }

  /**
   * Returns the session in memory, at least as new as the store at the time of this call, or as `version`. Returns
   * `null` if the session must be loaded.
   */
  async #current(id: string, version: SessionVersion | null = null): Promise<Session | null> {
    const { cache, sync } = this.#options;
    const session = cache.get(id);
    if (session === undefined || sync === null) return session ?? null;
    const { head, textMark } = session;
    const result = await sync.toNow(session, version);
    if (result === "current") {
      if (session.head !== head || session.textMark !== textMark) cache.weigh(session);
      return session;
    }
    if (result === "gone") cache.end(id, session.incarnation);
    else cache.replace(session);
    return null;
  }

  /**
   * Loads the session. If it does not exist, creates it under `spelling`. Returns `null` if `spelling` is `null` or
   * the session was deleted recently. Retries if the session was deleted or kept changing during the load. Throws
   * `Unavailable` after `MAX_LOADS` attempts.
   */
  async #load(id: string, spelling: string | null): Promise<Session | null> {
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      const usedAt = momentOf(this.#options.clock);
      const birth = spelling === null ? null : newBirth(this.#options.apps, spelling, true);
      const target = { session: id, birth, load: true, access: null };
      const opened = await this.#caughtUp(await this.#commit({ kind: "open", target, input: NO_CHANGE }));
      if (opened === null) return null;
      if (opened.session === null) continue;
      opened.session.noteUse(usedAt);
      return opened.session;
    }
    const detail = "The session changes too fast to be shown at the moment. Send the request again.";
    throw new Unavailable(503, "session_restless", detail, 1);
  }
}

/** Throws if a transaction that may create its session returned `null`, which would be a defect. */
function assertCreated<Created>(created: Created | null): Created {
  if (created === null) throw new Error("A transaction that may create its session returned none");
  return created;
}

interface SessionLoadsOptions {
  readonly creations: Pick<SessionCreations, "run">;
  /** Returns the session in memory if it is current; `null` otherwise. */
  readonly current: (id: string) => Promise<Session | null>;
  /**
   * Loads the session. If it does not exist, creates it under `spelling`. Returns `null` if `spelling` is `null` or
   * the session was deleted recently.
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
function newBirth(apps: Pick<AppCatalog, "get">, spelling: string, unlessDeleted: boolean): SessionBirth {
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
   * @throws SessionDeleted if it was deleted recently
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

/** Returns the reason why a request may not access a session in memory; `null` if it may. */
function hiddenInMemory(
  { boundApp: app, owner }: Session,
  access: SessionAccess | null,
): HiddenReason | null {
  return hiddenFrom({ app, owner }, access);
}

/** @throws NotFound if the session belongs to another user; OtherApp if the request may not use its App */
export function assertShown(session: Session, access: SessionAccess): void {
  const hidden = hiddenInMemory(session, access);
  if (hidden !== null) throw hiddenError(hidden);
}

function hiddenError(reason: RefusalReason): Error {
  if (reason === "wallet_not_proved") return walletNotProved();
  return reason === "other_owner" ? unknownSession() : new OtherApp();
}

/** Returns why a command was refused; `null` if it was not. */
function refusedIn({ outcome }: Applied<unknown>): RefusalReason | null {
  return outcome === "other_app" || outcome === "other_owner" || outcome === "wallet_not_proved"
    ? outcome
    : null;
}
