// Finds the session of an id: in memory, or else in the store, or else by creating it. Every commit passes through here: it is applied to
// memory and then published, in the order of the commits.

import { randomUUID } from "node:crypto";
import type { SessionTarget } from "../core/commands/command.ts";
import type { OutcomeOf, SessionCommand } from "../core/commands/index.ts";
import { OtherApp, OutcomeUnknown, Unavailable } from "../core/errors.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { EventHub, StreamingText } from "../core/ports/driven/event-hub.ts";
import type {
  Committed,
  SessionStore,
  SessionUse,
  SessionVersion,
} from "../core/ports/driven/session-store.ts";
import type { CommandStore } from "../core/ports/driven/store.ts";
import type { NewSessionOptions } from "../core/ports/driving/services.ts";
import { belongsToAny, DEFAULT_APP, type SessionBirth, type SessionRecord } from "../core/session.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { ReplicaSync } from "./replica-sync.ts";
import { assertCreated, SessionCreations, SessionLoads, type SessionCache } from "./session-cache.ts";
import { momentOf, Session, USE_NOTED_MS, type Moment } from "./session.ts";

const IDLE_CHECK_MS = 60_000;
const MAX_LOADS = 3;
const NO_CHANGE = { userState: null, publicKey: null };

export interface SessionRegistryOptions {
  readonly store: CommandStore & { readonly sessions: Pick<SessionStore, "find"> };
  readonly hub: Pick<EventHub, "publish" | "answerLoaded">;
  readonly clock: Clock;
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

type Transaction<Outcome> = (target: SessionTarget) => Promise<Committed<Outcome> | null>;

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

  /** Returns the session if it is in memory, certainly current, and its use need not be recorded now. Counts as use. */
  getSync(id: string): Session | null {
    const session = this.#isMemoryCurrent ? this.inMemory(id) : null;
    return session?.isUseNoted(this.#options.clock) === true ? session : null;
  }

  /** Returns the session if it is in memory, however long ago its use was recorded. */
  inMemory(id: string): Session | null {
    return this.#options.cache.get(id) ?? null;
  }

  /** Returns the session if it is in memory and certainly current, without counting this as use. */
  peekCurrent(id: string): Session | null {
    return this.#isMemoryCurrent ? (this.#options.cache.peek(id) ?? null) : null;
  }

  /** Returns the session if this incarnation is in memory, without counting this as use. */
  ofIncarnation(id: string, life: string): Session | null {
    const session = this.#options.cache.peek(id);
    return session?.life === life ? session : null;
  }

  /** Returns the incarnation in memory, if any. */
  incarnationsOf(id: string): readonly string[] {
    const session = this.#options.cache.peek(id);
    return session === undefined ? [] : [session.life];
  }

  /**
   * Returns the session, and creates it if it does not exist. Its use is durable when this resolves. `seen` is its version if the caller
   * has read it for the same request.
   */
  async get(id: string, creation: NewSessionOptions, seen: SessionVersion | null = null): Promise<Session> {
    const { admit = null, spelling = id } = creation ?? {};
    const session = await this.#current(id, seen);
    if (session === null) return await this.#loads.load(id, admit, seen !== null, spelling);
    if (session.isUseNoted(this.#options.clock)) return session;
    if (await this.#touch(session)) return session;
    return await this.#loads.load(id, admit, false, spelling);
  }

  /** Records the use of a session that was read from the store, unless it was recorded recently. */
  async noteUse({ id, life, unusedMs }: SessionUse): Promise<void> {
    if (unusedMs >= USE_NOTED_MS) await this.#touch({ id, life });
  }

  /** Returns the session of an existing id, loaded if need be; `null` if it does not exist. */
  async find(id: string): Promise<Session | null> {
    return (await this.#current(id)) ?? (await this.#load(id, null));
  }

  /**
   * Runs a transaction on a session, which is created if it does not exist, and applies its commit. `creation` must allow the creation if
   * the session is neither in memory nor in the store.
   */
  async commit<Outcome>(
    id: string,
    creation: NewSessionOptions,
    transaction: Transaction<Outcome>,
  ): Promise<Applied<Outcome>> {
    const { admit = null, spelling = id } = creation ?? {};
    const commitOrCreate = async () =>
      assertCreated(await this.#commit(id, this.#birth(spelling), transaction));
    if (admit === null || this.peekCurrent(id) !== null) return await commitOrCreate();
    if (this.inMemory(id) !== null) {
      // Another process may have deleted the session, and creating it again requires admission.
      const done = await this.#commit(id, null, transaction);
      if (done !== null) return done;
    }
    return await this.#creations.run(id, admit, commitOrCreate);
  }

  /** Runs a command on an existing session or turn, and applies and publishes its commit. Returns `null` if the target does not exist. */
  async execute<C extends SessionCommand>(command: C): Promise<Applied<OutcomeOf<C["kind"]>> | null> {
    const { target } = command;
    const id = "turn" in target ? target.turn.sessionId : target.session;
    const askedAt = momentOf(this.#options.clock);
    const committed = await this.#invalidateOnUnknownOutcome(id, this.#options.store.execute(command));
    if (committed === null) return null;
    const applied = this.apply(committed, askedAt);
    // This must precede any commit of the next incarnation.
    if (command.kind === "delete" && committed.outcome === "ok") this.remove(id, committed.session.life);
    return applied;
  }

  /** Returns the error for a session of another App. Invalidates the session if memory disagrees, so that a retry sees the stored App. */
  otherApp(id: string, apps: readonly string[] | undefined): OtherApp {
    const session = this.peekCurrent(id);
    if (session !== null && belongsToAny(session, apps)) this.invalidate(id);
    return new OtherApp();
  }

  /**
   * Applies a commit to memory, then publishes it. Must be called in the order of the commits, without an await in between. `askedAt` is a
   * time before the transaction; without it, the commit does not count as recorded use.
   */
  apply<Outcome>(committed: Committed<Outcome>, askedAt: Moment | null = null): Applied<Outcome> {
    const { session: record, events, loaded } = committed;
    const { cache, hub, running } = this.#options;
    const known = this.inMemory(record.id);
    let session = known !== null && cache.applyCommit(known, committed) ? known : null;
    let streaming: StreamingText | null = null;
    if (session === null && loaded !== null) {
      session = new Session(loaded);
      streaming = session.streaming;
    }
    if (session !== null) {
      // Every change of a session also records its use.
      if (askedAt !== null && (committed.created || events.length > 0)) session.noteUse(askedAt);
      session.noteEpoch(record.epoch);
    }
    const { life, epoch } = record;
    if (events.length > 0) hub.publish(record.id, { kind: "events", life, epoch, events });
    // Text that streams elsewhere is read on demand, by its subscribers.
    if (session !== null && streaming !== null && (this.#isMemoryCurrent || running.isRunning(session.key)))
      hub.answerLoaded(session, streaming);
    // Last, because the session may be evicted at once, and its published text with it.
    if (session !== null) cache.put(session);
    running.supersede(record.key, epoch);
    if (session !== null) this.#catchUpLater(session, record.head);
    return { outcome: committed.outcome, record, created: committed.created, session };
  }

  /** Drops a deleted incarnation and publishes its deletion. */
  remove(id: string, life: string): void {
    this.end(id, life);
    this.#options.hub.publish(id, { kind: "deleted", life });
  }

  /** Drops a deleted incarnation whose deletion was published. */
  end(id: string, life: string): void {
    this.#options.cache.end(id, life);
  }

  /** Applies a notification of another process. Events that arrive too early are buffered, and gaps are read from the store. */
  applyRemote(id: string, notification: Extract<SessionNotification, { kind: "events" | "moved" }>): void {
    const session = this.ofIncarnation(id, notification.life);
    if (session === null) return;
    session.noteEpoch(notification.epoch);
    if (notification.kind === "events") {
      session.apply(notification.events);
      this.#options.cache.weigh(session);
    }
    this.#catchUpLater(
      session,
      notification.kind === "moved" ? notification.head : (notification.events.at(-1)?.number ?? 0),
    );
  }

  /** Makes the next caller load the session again, because memory may lack a commit. */
  invalidate(id: string): void {
    const { cache } = this.#options;
    const session = cache.peek(id);
    if (session !== undefined) cache.replace(session);
  }

  /** Like `invalidate`, for all sessions with pending actions. */
  invalidateWaiting(): void {
    const { cache } = this.#options;
    for (const session of cache.sessions()) if (session.hasPendingActions) cache.replace(session);
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
    if (result === "gone") cache.end(id, session.life);
    else cache.replace(session);
    return null;
  }

  /** Records the use of an incarnation. Returns false if the incarnation was deleted, and drops it. */
  async #touch({ id, life }: { readonly id: string; readonly life: string }): Promise<boolean> {
    const askedAt = momentOf(this.#options.clock);
    const target = { session: id, incarnation: life };
    const noted = await this.#options.store.execute({ kind: "noteUse", target, input: null });
    if (noted === null) this.remove(id, life);
    else this.ofIncarnation(id, life)?.noteUse(askedAt);
    return noted !== null;
  }

  /** Returns the same promise, so that nothing runs between the promise and `apply`. */
  #invalidateOnUnknownOutcome<Answer>(id: string, change: Promise<Answer>): Promise<Answer> {
    change.catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) this.invalidate(id);
    });
    return change;
  }

  async #commit<Outcome>(
    id: string,
    birth: SessionBirth | null,
    transaction: Transaction<Outcome>,
  ): Promise<Applied<Outcome> | null> {
    const askedAt = momentOf(this.#options.clock);
    const load = this.inMemory(id) === null;
    const committed = await this.#invalidateOnUnknownOutcome(id, transaction({ session: id, birth, load }));
    if (committed === null) return null;
    const applied = this.apply(committed, askedAt);
    return { ...applied, session: await this.#caughtUp(applied) };
  }

  /** Reads earlier events that other processes committed. Callers that respond from the session check it themselves. */
  #catchUpLater(session: Session, head: number): void {
    this.#catchUp(session, head).catch(() => undefined);
  }

  /**
   * Returns the session, caught up to its commit; `null` if it cannot be shown now. Never rejects, because the change is committed.
   */
  async #caughtUp({ session, record }: Applied<unknown>): Promise<Session | null> {
    if (session === null) return null;
    return (await this.#catchUp(session, record.head).catch(() => false)) ? session : null;
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

  #birth(spelling: string): SessionBirth {
    const app = this.#options.apps.get(DEFAULT_APP);
    if (app === null) throw new Error("The default App is missing from the catalog");
    // 48 random bits suffice, because only the incarnations of one id must differ.
    const random = randomUUID();
    return { life: random.slice(0, 8) + random.slice(9, 13), model: app.models[0], spelling };
  }

  /**
   * Loads the session. If it does not exist, creates it under `spelling`, or returns `null` if that is
   * `null`. Loads again if the session was deleted or changed too fast during the load; throws `Unavailable`
   * after some attempts.
   */
  async #load(id: string, spelling: string | null): Promise<Session | null> {
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      const askedAt = momentOf(this.#options.clock);
      const birth = spelling === null ? null : this.#birth(spelling);
      const opened = await this.#commit(id, birth, (target) =>
        this.#options.store.execute({ kind: "open", target: { ...target, load: true }, input: NO_CHANGE }),
      );
      if (opened === null) return null;
      if (opened.session === null) continue;
      opened.session.noteUse(askedAt);
      return opened.session;
    }
    const detail = "The session changes too fast to be shown at the moment. Send the request again.";
    throw new Unavailable(503, "session_restless", detail, 1);
  }
}
