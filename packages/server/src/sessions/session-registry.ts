// Executes commands on sessions. Applies every commit to memory and then publishes it, in commit order. Finds sessions in memory or in
// the store, and creates missing ones.

import { logAudit } from "../core/audit.ts";
import type { SessionTarget } from "../core/commands/command.ts";
import { sessionOf } from "../core/commands/decide.ts";
import type { AnswerOf, OutcomeOf, SessionCommand } from "../core/commands/index.ts";
import { OutcomeUnknown, SessionDeleted, Unavailable, unknownSession } from "../core/errors.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { EventHub, StreamingText } from "../core/ports/driven/event-hub.ts";
import type {
  Committed,
  SessionStore,
  SessionUse,
  SessionVersion,
} from "../core/ports/driven/session-store.ts";
import type { CommandStore, JobStore } from "../core/ports/driven/store.ts";
import type { Admit, NewSessionOptions } from "../core/ports/driving/services.ts";
import type { Refused, SessionAccess } from "../core/session-access.ts";
import type { SessionBirth } from "../core/session.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import { type Applied, assertShown, hiddenError, refusedIn, hiddenInMemory } from "./applied.ts";
import type { ReplicaSync } from "./replica-sync.ts";
import {
  assertCreated,
  newBirth,
  SessionCreations,
  SessionLoads,
  type SessionCache,
} from "./session-cache.ts";
import { momentOf, type Moment, USE_RECORDED_MS } from "./session-use.ts";
import { Session } from "./session.ts";

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
   * Executes a command on a session, which is created if it does not exist. `creation` must allow the creation of a missing session.
   * With `unlessDeleted`, a session that was deleted a short time ago is not created again.
   * @throws NotFound or OtherApp if `access` hides the session, which is then unchanged; SessionDeleted
   */
  async executeOrCreate<C extends UntargetedCommand>(
    id: string,
    access: SessionAccess,
    creation: NewSessionOptions,
    command: C,
    { unlessDeleted = false } = {},
  ): Promise<Applied<Exclude<OutcomeOf<C["kind"]>, Refused>>> {
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

  /** Returns a check before a creation that spends no budget on a session that was deleted a short time ago. */
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
    const askedAt = momentOf(this.#options.clock);
    const change = this.#options.store.execute(command);
    this.#invalidateOnUnknownOutcome(id, change);
    const committed = await change;
    if (committed === null) return null;
    // A refused command has no events; `#shown` throws.
    const applied = this.apply(committed, askedAt);
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
   * Applies a commit to memory, then publishes it. Must be called in the order of the commits, without an await in between. `askedAt` is
   * a time before the transaction; without it, the commit does not count as recorded use.
   */
  apply<Outcome>(committed: Committed<Outcome>, askedAt: Moment | null = null): Applied<Outcome> {
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
      if (askedAt !== null && (committed.created || events.length > 0)) session.noteUse(askedAt);
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
  ): Applied<Exclude<Outcome, Refused>> {
    const refused = refusedIn(applied);
    if (refused !== null) throw this.hidden(applied.record.id, access, refused);
    return applied as Applied<Exclude<Outcome, Refused>>;
  }

  /** Returns the error for a session that `access` hides. Invalidates an outdated session in memory, so that a retry reloads it. */
  hidden(id: string, access: SessionAccess | null, reason: Refused): Error {
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

  /** Returns the commit, whose session is caught up; `null` if it cannot be shown now. Never rejects, because the change is committed. */
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
   * Returns the session, and creates it if it does not exist. The user becomes the owner of an empty session. The session's use is
   * recorded when this resolves. `seen` is its version if the caller has read it for the same request.
   * @throws NotFound if it belongs to another user; SessionDeleted if it was deleted a short time ago
   */
  async get(
    id: string,
    access: SessionAccess,
    creation: NewSessionOptions,
    seen: SessionVersion | null = null,
  ): Promise<Session> {
    const { admit = null, spelling = id } = creation ?? {};
    const known = await this.#current(id, seen);
    const isUsable = known !== null && (known.isUseNoted(this.#options.clock) || (await this.#touch(known)));
    const existed = known === null && seen !== null;
    const admitted = admit === null ? null : this.#unlessDeleted(id, admit);
    const session = isUsable ? known : await this.#loads.load(id, admitted, existed, spelling);
    return session.isOpenTo(access) ? session : await this.#claimed(session, access);
  }

  /** Creates the session if it does not exist, unless it was deleted a short time ago. Throws like `get`. */
  async ensure(id: string, access: SessionAccess, creation: NewSessionOptions): Promise<void> {
    try {
      await this.get(id, access, creation);
    } catch (error) {
      if (!(error instanceof SessionDeleted)) throw error;
    }
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
    const askedAt = momentOf(this.#options.clock);
    const target = { session: id, incarnation };
    const noted = await this.#options.store.execute({ kind: "noteUse", target, input: null });
    if (noted === null) this.remove(id, incarnation);
    else this.ofIncarnation(id, incarnation)?.noteUse(askedAt);
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

  /** Returns the session in memory, at least as new as the store at the time of this call or as `seen`; `null` if it must be loaded. */
  async #current(id: string, seen: SessionVersion | null = null): Promise<Session | null> {
    const { cache, sync } = this.#options;
    const session = cache.get(id);
    if (session === undefined || sync === null) return session ?? null;
    const { head, textMark } = session;
    const result = await sync.toNow(session, seen);
    if (result === "current") {
      if (session.head !== head || session.textMark !== textMark) cache.weigh(session);
      return session;
    }
    if (result === "gone") cache.end(id, session.incarnation);
    else cache.replace(session);
    return null;
  }

  /**
   * Loads the session. If it does not exist, creates it under `spelling`. Returns `null` if that is `null`, or if the session was deleted
   * a short time ago. Retries if it was deleted or kept changing during the load. Throws `Unavailable` after too many attempts.
   */
  async #load(id: string, spelling: string | null): Promise<Session | null> {
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      const askedAt = momentOf(this.#options.clock);
      const birth = spelling === null ? null : newBirth(this.#options.apps, spelling, true);
      const target = { session: id, birth, load: true, access: null };
      const opened = await this.#caughtUp(await this.#commit({ kind: "open", target, input: NO_CHANGE }));
      if (opened === null) return null;
      if (opened.session === null) continue;
      opened.session.noteUse(askedAt);
      return opened.session;
    }
    const detail = "The session changes too fast to be shown at the moment. Send the request again.";
    throw new Unavailable(503, "session_restless", detail, 1);
  }
}
