// Finds the live session of an id: in memory, else in the store (one load however many ask), else new. Everything that is
// committed passes here: it is applied to memory and announced, in the order in which the store committed it.

import { OutcomeUnknown } from "../core/errors.ts";
import type { Bus, SessionNote } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { AdmitNewSession } from "../core/ports/driving/services.ts";
import type {
  Committed,
  SessionStore,
  SessionTarget,
  SessionUse,
  SessionVersion,
} from "../core/ports/driven/session-store.ts";
import type { SessionBirth, SessionRecord } from "../core/session.ts";
import type { StreamingText } from "./answer-text.ts";
import { Births, newBirth, surelyMade } from "./births.ts";
import { LiveSessions, type LiveSessionsOptions } from "./live-sessions.ts";
import { loadUndisturbed } from "./load-undisturbed.ts";
import { isNoted, momentOf, USE_NOTED_MS, type Moment } from "./noted-use.ts";
import { SessionLoads } from "./session-loads.ts";
import { Session } from "./session.ts";

const IDLE_CHECK_MS = 60_000;
const NOTHING_NEW = { userState: null, publicKey: null };

export interface RegistryOptions extends LiveSessionsOptions {
  readonly store: SessionStore;
  readonly bus: Bus;
  readonly clock: Clock;
  /** The rig of a session that is being created. */
  readonly defaultModel: () => string;
  /** Called with each committed session: whoever runs a turn of an older epoch has to stop. */
  readonly onCommitted: (session: SessionRecord) => void;
  /**
   * Called with each session that was loaded in the middle of an answer, with the text of it that is shown from now on: nobody has
   * announced what came from the store.
   */
  readonly onAnswerLoaded: (session: Session, streaming: StreamingText) => void;
}

/** What was committed, with the live session after it (`null` when it is not in memory). */
export interface Settled<Outcome> {
  readonly outcome: Outcome;
  readonly record: SessionRecord;
  readonly created: boolean;
  readonly session: Session | null;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #live: LiveSessions;
  readonly #births: Births;
  readonly #loads: SessionLoads;
  readonly #idleCheck: Timer;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#live = new LiveSessions(options);
    this.#births = new Births(async (id) => (await options.store.find(id)) !== null);
    this.#loads = new SessionLoads({
      births: this.#births,
      current: (id) => this.#live.current(id),
      find: (id) => this.#load(id, null),
      open: async (id, spelling) => surelyMade(await this.#load(id, spelling)),
    });
    this.#idleCheck = options.clock.every(IDLE_CHECK_MS, () => options.cache.dropIdle());
  }

  stop(): void {
    this.#idleCheck.stop();
  }

  /** The live session if it is in memory, surely right, and its use need not be noted now: the way without a promise. */
  peek(id: string): Session | null {
    const session = this.#live.areRight ? this.inMemory(id) : null;
    return session !== null && isNoted(session.useNotedAt, this.#options.clock) ? session : null;
  }

  /** The live session if it is in memory, however long ago its use was noted. */
  inMemory(id: string): Session | null {
    return this.#options.cache.get(id) ?? null;
  }

  /** As `inMemory`, where that is surely right; it does not count as use there: to find out whether somebody may use it. */
  resident(id: string): Session | null {
    return !this.#live.areRight ? null : (this.#options.cache.peek(id) ?? null);
  }

  /** The live session of this life, used or not: for who works on it. */
  live(id: string, life: string): Session | null {
    const session = this.#options.cache.peek(id);
    return session?.life === life ? session : null;
  }

  /**
   * The live session, created when there is none; its use is on disk when this resolves. `seen` is where the store had it, if whoever asks
   * has looked since he was asked.
   */
  async get(id: string, begins: AdmitNewSession, seen: SessionVersion | null = null): Promise<Session> {
    const { admit = null, spelling = id } = begins ?? {};
    const session = await this.#live.current(id, seen);
    if (session === null) return await this.#loads.load(id, admit, seen !== null, spelling);
    if (isNoted(session.useNotedAt, this.#options.clock)) return session;
    const askedAt = this.moment();
    const gone = await this.#options.store.touch([{ id, life: session.life }]);
    if (gone.length === 0) {
      session.noteUse(askedAt);
      return session;
    }
    this.forget(id, session.life);
    return await this.#loads.load(id, admit, false, spelling);
  }

  /** Notes the use of a session that was read from the store, unless the store had it noted lately. */
  async noteUse({ id, life, unusedMs }: SessionUse): Promise<void> {
    if (unusedMs < USE_NOTED_MS) return;
    const askedAt = this.moment();
    const gone = await this.#options.store.touch([{ id, life }]);
    if (gone.length > 0) this.forget(id, life);
    else this.live(id, life)?.noteUse(askedAt);
  }

  /** The live session of an id that exists, loaded if need be; `null`, and nothing created, when it does not. */
  async find(id: string): Promise<Session | null> {
    return (await this.#live.current(id)) ?? (await this.#load(id, null));
  }

  /**
   * Runs a transaction on a session that is created if there is none, and settles what it committed. `begins` is asked first
   * when the session is not in memory and not in the store.
   */
  async commit<Outcome>(
    id: string,
    begins: AdmitNewSession,
    transaction: (target: SessionTarget) => Promise<Committed<Outcome> | null>,
  ): Promise<Settled<Outcome>> {
    const { admit = null, spelling = id } = begins ?? {};
    const make = async () => surelyMade(await this.#commit(id, this.#birth(spelling), transaction));
    if (admit === null || this.resident(id) !== null) return await make();
    if (this.inMemory(id) !== null) {
      // Others may have deleted it: then it has to be created, for which somebody has to be asked.
      const done = await this.#commit(id, null, transaction);
      if (done !== null) return done;
    }
    return await this.#births.make(id, admit, make);
  }

  async #commit<Outcome>(
    id: string,
    birth: SessionBirth | null,
    transaction: (target: SessionTarget) => Promise<Committed<Outcome> | null>,
  ): Promise<Settled<Outcome> | null> {
    const askedAt = this.moment();
    const load = this.inMemory(id) === null;
    const committed = await this.orReload(id, transaction({ id, birth, load }));
    if (committed === null) return null;
    const settled = this.settle(committed, askedAt);
    return { ...settled, session: await this.#upTo(settled) };
  }

  /**
   * Applies what was committed to memory, then announces it. Must be called in the order of the commits, without a wait in between. `askedAt`
   * is before it was asked for; who does not say has the use of the session noted once more.
   */
  settle<Outcome>(committed: Committed<Outcome>, askedAt: Moment | null = null): Settled<Outcome> {
    const { session: record, events, loaded } = committed;
    const { cache } = this.#options;
    let session = this.inMemory(record.id);
    if (session !== null && !this.#live.follows(session, committed)) session = null;
    let answer: StreamingText | null = null;
    if (session === null && loaded !== null) {
      session = new Session(loaded);
      answer = session.streaming;
    }
    if (session !== null) {
      // Whatever changes a session notes its use on the way.
      if (askedAt !== null && (committed.created || events.length > 0)) session.noteUse(askedAt);
      session.noteEpoch(record.epoch);
    }
    const { life, epoch } = record;
    if (events.length > 0) this.#options.bus.publish(record.id, { kind: "events", life, epoch, events });
    if (session !== null && answer !== null) this.#options.onAnswerLoaded(session, answer);
    // Last, because it may leave at once again, and what readers were told of goes with it.
    if (session !== null) cache.put(session);
    this.#options.onCommitted(record);
    if (session !== null) this.#mend(session, record.head);
    return { outcome: committed.outcome, record, created: committed.created, session };
  }

  /** A life of a session is over: nothing of it stays in memory, and its readers are told. */
  forget(id: string, life: string): void {
    this.end(id, life);
    this.#options.bus.publish(id, { kind: "deleted", life });
  }

  /** As `forget`, where its readers have been told. */
  end(id: string, life: string): void {
    this.#live.end(id, life);
  }

  /** Another process has committed this. */
  hear(id: string, note: Extract<SessionNote, { kind: "events" | "moved" }>): void {
    const session = this.live(id, note.life);
    if (session === null) return;
    session.noteEpoch(note.epoch);
    if (note.kind === "events") this.#live.hears(session, note.events);
    this.#mend(session, note.kind === "moved" ? note.head : (note.events.at(-1)?.number ?? 0));
  }

  /** As in `LiveSessions`; so is `reloadAsking`. */
  reload(id: string): void {
    this.#live.reload(id);
  }

  reloadAsking(): void {
    this.#live.reloadAsking();
  }

  /**
   * What the store is asked to change of a session: the same promise, so that nothing comes between its answer and `settle`. Where nobody
   * knows whether it was changed, the live session is loaded anew; where nothing was, memory goes on answering without the store.
   */
  orReload<Answer>(id: string, change: Promise<Answer>): Promise<Answer> {
    change.catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) this.reload(id);
    });
    return change;
  }

  /** Reads what others have committed between what is known and what was just heard of. Whoever is answered from the session asks for himself. */
  #mend(session: Session, head: number): void {
    if (this.#live.isBehind(session, head)) this.#live.catchesUp(session, head).catch(() => undefined);
  }

  /** The session with all that was committed up to this, `null` when it cannot be shown now. Never rejects: what was committed stays so. */
  async #upTo({ session, record }: Settled<unknown>): Promise<Session | null> {
    if (session === null || !this.#live.isBehind(session, record.head)) return session;
    const isUp = await this.#live.catchesUp(session, record.head).catch(() => false);
    return isUp ? session : null;
  }

  /** Now, by the clocks that say how long ago use was noted. */
  moment(): Moment {
    return momentOf(this.#options.clock);
  }

  #birth(spelling: string): SessionBirth {
    return newBirth(this.#options.defaultModel(), spelling);
  }

  /** Loads the session. One that does not exist is created under `spelling`; where that is `null`, the answer is. */
  async #load(id: string, spelling: string | null): Promise<Session | null> {
    const askedAt = this.moment();
    const loaded = await loadUndisturbed(async () => {
      const settled = await this.#commit(id, spelling === null ? null : this.#birth(spelling), (target) =>
        this.#options.store.open({ ...target, load: true }, NOTHING_NEW),
      );
      return settled === null ? null : (settled.session ?? "disturbed");
    });
    loaded?.noteUse(askedAt);
    return loaded;
  }
}
