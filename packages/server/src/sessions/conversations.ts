// The use cases of one conversation: chat, state, interrupt, and making a session exist.

import type { ChatOutcome } from "../core/decisions/chat.ts";
import type { PartialText } from "../core/decisions/interrupt.ts";
import { AppGone, NotFound, throwAfterCommit } from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/apps.ts";
import type { Bus, Following } from "../core/ports/bus.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { AdmitNewSession, ChatRequest, ConversationService } from "../core/ports/services.ts";
import type { SnapshotView, StateRequest } from "../core/ports/services.ts";
import type { Store } from "../core/ports/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { settleChat, type Reservation } from "../turns/dispatching.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import { chatInputOf } from "./chat-input.ts";
import { chatRejection, tooManyWaiting } from "./chat-rejection.ts";
import { otherApp } from "./other-app.ts";
import type { Registry } from "./registry.ts";
import type { Session } from "./session.ts";
import type { Titles } from "./titles.ts";
import type { VersionReads } from "./version-reads.ts";

export interface ConversationsOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  readonly running: RunningTurns;
  readonly titles: Titles;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly bus: Pick<Bus, "follow">;
  /** Where sessions stand that other processes change too; `null` where there are none. */
  readonly versions: Pick<VersionReads, "of"> | null;
  /** Messages of a session that may wait behind the running turn. */
  readonly maxQueued: number;
}

/** Where a session stands for whoever reads its events. */
type SessionPosition = Pick<Session, "life" | "head" | "app" | "epoch" | "streaming">;

const NEVER = new AbortController().signal;

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #noWaiting = new AbortController();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async chat(request: ChatRequest, admit: AdmitNewSession): Promise<SnapshotView> {
    const { dispatcher, store } = this.#options;
    const { sessionId, idempotencyKey: key } = request;
    // What was accepted already adds nothing that waits.
    const isRepeat = async () => key !== null && (await store.jobs.isKeyUsed(sessionId, key));
    if ((await dispatcher.isFull()) && !(await isRepeat())) throw tooManyWaiting();
    const app = this.#app(request.app);
    const session = await this.#accept(request, app, dispatcher.reserve(), admit);
    return await this.#answerStored(session, sessionId, request.waitMs, request.signal);
  }

  state(request: StateRequest, admit: AdmitNewSession): SnapshotView | Promise<SnapshotView> {
    if (request.userState === null && request.waitMs === 0) {
      const session = this.#options.registry.peek(request.sessionId);
      if (session !== null) return session.view();
    }
    return this.#state(request, admit);
  }

  async interrupt(
    sessionId: string,
    admit: AdmitNewSession,
    apps?: readonly string[],
  ): Promise<SnapshotView> {
    const { registry, store } = this.#options;
    const { outcome, session } = await registry.commit(sessionId, admit, (target) =>
      store.turns.interrupt(target, this.#streamed(sessionId), apps),
    );
    if (outcome === "other_app") throw otherApp(registry, sessionId, apps);
    return await this.#answerStored(session, sessionId, 0, NEVER);
  }

  async interruptExisting(sessionId: string): Promise<void> {
    const { registry, store } = this.#options;
    const askedAt = registry.moment();
    const target = { id: sessionId, birth: null, load: false };
    const stopped = store.turns.interrupt(target, this.#streamed(sessionId));
    const committed = await registry.orReload(sessionId, stopped);
    if (committed !== null) registry.settle(committed, askedAt);
  }

  /** Makes the session exist; answers where it stands. */
  async ensure(sessionId: string, admit: AdmitNewSession): Promise<SessionPosition> {
    return positionOf(await this.#options.registry.get(sessionId, admit));
  }

  /** As `ensure`, `null` when there is no such session. */
  async position(sessionId: string): Promise<SessionPosition | null> {
    const session = await this.#options.registry.find(sessionId);
    return session === null ? null : positionOf(session);
  }

  appOf(sessionId: string): ReturnType<ConversationService["appOf"]> {
    const { registry, store, versions } = this.#options;
    const session = registry.resident(sessionId);
    if (session !== null) return session.app;
    if (versions !== null)
      return versions.of(sessionId).then((seen) => ({ app: seen?.app ?? DEFAULT_APP, seen }));
    return store.sessions.find(sessionId).then((record) => ({ app: record?.app ?? DEFAULT_APP, seen: null }));
  }

  /** From here on nobody waits for a session to stop processing: the service ends. */
  stopWaiting(): void {
    this.#noWaiting.abort();
  }

  async #state(request: StateRequest, admit: AdmitNewSession): Promise<SnapshotView> {
    const { sessionId, userState, waitMs, signal, seen = null } = request;
    const { registry, store } = this.#options;
    if (userState === null) {
      const session = await registry.get(sessionId, admit, seen);
      if (waitMs === 0 && !session.isReplaced && !session.isGone) return session.view();
      return await this.#answer(session, sessionId, waitMs, signal);
    }
    const merged = await registry.commit(sessionId, admit, (target) =>
      store.sessions.open(target, { userState, publicKey: null }),
    );
    if (merged.outcome === "user_state_too_large") throw chatRejection("user_state_too_large");
    return await this.#answerStored(merged.session, sessionId, waitMs, signal);
  }

  async #accept(
    request: ChatRequest,
    app: AppDefinition,
    place: Reservation,
    admit: AdmitNewSession,
  ): Promise<Session | null> {
    const { registry, store, titles } = this.#options;
    let outcome: ChatOutcome | null = null;
    try {
      const settled = await registry.commit(request.sessionId, admit, (target) =>
        store.turns.chat(target, {
          ...chatInputOf(request, app, this.#options.maxQueued),
          // Only an interrupt needs the text, and it may be long.
          streamed: app.onBusy === "interrupt" ? this.#streamed(request.sessionId) : null,
          claim: place.claim,
          fullProviders: place.fullProviders,
        }),
      );
      outcome = settled.outcome;
      if (outcome.kind === "rejected") throw chatRejection(outcome.reason);
      if (outcome.kind === "accepted" && outcome.wantsTitle) {
        const { id, life, utilityModel } = settled.record;
        titles.start({ sessionId: id, life, app: app.name, utilityModel, text: request.message });
      }
      return settled.session;
    } catch (error) {
      // Nobody knows whether the turn was stored: if it waits, it must not wait for somebody else to ring.
      if (outcome === null) this.#options.dispatcher.ring();
      throw error;
    } finally {
      settleChat(place, outcome);
    }
  }

  /** What this process has of the text that streams in the session, committed or not. */
  #streamed(sessionId: string): PartialText | null {
    const session = this.#options.registry.inMemory(sessionId);
    const running = session === null ? null : this.#options.running.ofSession(session.key);
    if (session === null || running === null) return null;
    return { turn: running.turn.turn, epoch: running.turn.epoch, text: session.streamingText };
  }

  /** As `#answer`, of a request that has changed something: that it failed must not be said. */
  async #answerStored(
    session: Session | null,
    sessionId: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<SnapshotView> {
    return await this.#answer(session, sessionId, waitMs, signal).catch(throwAfterCommit);
  }

  /** The snapshot, when the session has stopped processing or `waitMs` are over. */
  async #answer(
    live: Session | null,
    sessionId: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<SnapshotView> {
    let session = await this.#present(live, sessionId);
    if (waitMs === 0 || !session.isProcessing) return (await this.#withText(session)).view();
    const timeOver = new AbortController();
    const timer = this.#options.clock.after(waitMs, () => timeOver.abort());
    const enough = AbortSignal.any([signal, timeOver.signal, this.#noWaiting.signal]);
    const following = this.#options.bus.follow(sessionId);
    try {
      session = await this.#followed(following, session);
      while (session.isProcessing && !enough.aborted) {
        await session.settled(enough);
        session = await this.#present(session, sessionId);
      }
    } finally {
      following.stop();
      timer.stop();
    }
    return (await this.#withText(session)).view();
  }

  /**
   * The session with its text as the store has it now, where that streams elsewhere: memory may be behind by more than a checkpoint. What was
   * done is not undone where the store cannot say.
   */
  async #withText(session: Session): Promise<Session> {
    const { versions, running, registry } = this.#options;
    if (versions === null || !session.isStreaming || running.works(session.key)) return session;
    return (await registry.find(session.id).catch(() => null)) ?? session;
  }

  /** What others have committed before they were followed is looked up: nobody told of it here. */
  async #followed({ ready }: Following, session: Session): Promise<Session> {
    if (this.#options.versions === null) return session;
    await ready;
    const found = await this.#options.registry.find(session.id);
    return await this.#present(found, session.id);
  }

  /** A session that was just committed or waited for; another request may have deleted it since. */
  async #present(live: Session | null, sessionId: string): Promise<Session> {
    const isLive = live !== null && !live.isReplaced;
    const session = isLive ? live : await this.#options.registry.find(sessionId);
    if (session !== null && !session.isGone) return session;
    throw new NotFound("session_deleted", "The session was deleted while this request was answered.");
  }

  /** The route has let the request through; the configuration may have been replaced since. */
  #app(name: string): AppDefinition {
    const app = this.#options.apps.get(name);
    if (app === null) throw new AppGone();
    return app;
  }
}

function positionOf({ life, head, app, epoch, streaming }: Session): SessionPosition {
  return { life, head, app, epoch, streaming };
}
