// The use cases of one conversation: chat, state, interrupt, and creating a session.

import { createHash, randomUUID } from "node:crypto";
import type { ChatInput, ChatOutcome } from "../core/commands/chat.ts";
import type { PartialText } from "../core/commands/command.ts";
import { AppGone } from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type {
  AdmitNewSession,
  ChatRequest,
  ConversationService,
  SnapshotView,
  StateRequest,
} from "../core/ports/driving/services.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { type Dispatcher, finishReservation, type Reservation } from "../turns/dispatcher.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import { chatRejection, tooManyWaiting } from "./chat-rejection.ts";
import { otherApp } from "./other-app.ts";
import type { SessionRegistry } from "./session-registry.ts";
import type { Session } from "./session.ts";
import { SnapshotAnswers, type SnapshotAnswersOptions } from "./snapshot-answers.ts";
import type { Titles } from "./titles.ts";

export interface ConversationsOptions extends SnapshotAnswersOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  readonly running: RunningTurns;
  readonly titles: Titles;
  readonly apps: AppCatalog;
  /** Checked for every chat. */
  readonly limits: Pick<ChatInput, "maxQueued" | "maxMessageBytes">;
}

/** The position of a session's event log. */
type SessionPosition = Pick<
  Session,
  "spelling" | "life" | "head" | "app" | "epoch" | "streaming" | "pendingActions"
>;

const NEVER = new AbortController().signal;

export class Conversations implements ConversationService {
  readonly #options: ConversationsOptions;
  readonly #answers: SnapshotAnswers;

  constructor(options: ConversationsOptions) {
    this.#options = options;
    this.#answers = new SnapshotAnswers(options);
  }

  async chat(request: ChatRequest, admit: AdmitNewSession): Promise<SnapshotView> {
    const { dispatcher } = this.#options;
    const { sessionId, idempotencyKey: key } = request;
    // A repeated chat adds no waiting turn.
    const isRepeat = async () => key !== null && (await this.isRepeat(sessionId, key));
    if ((await dispatcher.isFull()) && !(await isRepeat())) throw tooManyWaiting();
    const app = this.#app(request.app);
    const session = await this.#accept(request, app, dispatcher.reserve(), admit);
    return await this.#answers.afterChange(session, request);
  }

  async isRepeat(sessionId: string, key: string): Promise<boolean> {
    return await this.#options.store.jobs.isKeyUsed(sessionId, key);
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
      store.execute({
        kind: "interrupt",
        target: { ...target, apps },
        input: { streamed: this.#streamed(sessionId) },
      }),
    );
    if (outcome === "other_app") throw otherApp(registry, sessionId, apps);
    return await this.#answers.afterChange(session, { sessionId, waitMs: 0, signal: NEVER });
  }

  async interruptExisting(sessionId: string): Promise<void> {
    const { registry, store } = this.#options;
    const askedAt = registry.moment();
    const target = { session: sessionId, birth: null, load: false };
    const input = { streamed: this.#streamed(sessionId) };
    const stopped = store.execute({ kind: "interrupt", target, input });
    const committed = await registry.invalidateOnUnknownOutcome(sessionId, stopped);
    if (committed !== null) registry.apply(committed, askedAt);
  }

  async ensure(sessionId: string, admit: AdmitNewSession): Promise<void> {
    await this.#options.registry.get(sessionId, admit);
  }

  /** Creates the session if it does not exist, and returns the position of its event log. */
  async ensurePosition(sessionId: string, admit: AdmitNewSession): Promise<SessionPosition> {
    return positionOf(await this.#options.registry.get(sessionId, admit));
  }

  /** Returns the position of the session's event log, or `null` if the session does not exist. */
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

  /** Ends all waits for sessions to stop processing; the service is stopping. */
  stopWaiting(): void {
    this.#answers.stopWaiting();
  }

  async #state(request: StateRequest, admit: AdmitNewSession): Promise<SnapshotView> {
    const { sessionId, userState, waitMs, seen = null } = request;
    const { registry, store } = this.#options;
    // Repeating the user state of a session in memory changes nothing, so it is only a read.
    const isRead = userState === null || registry.inMemory(sessionId) !== null;
    const session = isRead ? await registry.get(sessionId, admit, seen) : null;
    if (session !== null && (userState === null || session.has(userState))) {
      if (waitMs === 0 && !session.isReplaced && !session.isGone) return session.view();
      return await this.#answers.answer(session, request);
    }
    await request.admitChange?.();
    const merged = await registry.commit(sessionId, admit, (target) =>
      store.execute({ kind: "open", target, input: { userState, publicKey: null } }),
    );
    if (merged.outcome === "user_state_too_large") throw chatRejection("user_state_too_large");
    return await this.#answers.afterChange(merged.session, request);
  }

  async #accept(
    request: ChatRequest,
    app: AppDefinition,
    slot: Reservation,
    admit: AdmitNewSession,
  ): Promise<Session | null> {
    const { registry, store, titles } = this.#options;
    let outcome: ChatOutcome | null = null;
    try {
      const applied = await registry.commit(request.sessionId, admit, (target) =>
        store.execute({
          kind: "chat",
          target,
          input: {
            ...chatInputOf(request, app, this.#options.limits),
            // Only an interrupt needs the text, which may be long.
            streamed: app.onBusy === "interrupt" ? this.#streamed(request.sessionId) : null,
            claim: slot.claim,
            fullProviders: slot.fullProviders,
          },
        }),
      );
      outcome = applied.outcome;
      if (outcome.kind === "rejected") throw chatRejection(outcome.reason);
      if (outcome.kind === "accepted" && outcome.wantsTitle) {
        const { id, life, utilityModel } = applied.record;
        titles.start({ sessionId: id, life, app: app.name, utilityModel, text: request.message });
      }
      return applied.session;
    } catch (error) {
      // The turn may have been stored: then it may be claimable.
      if (outcome === null) this.#options.dispatcher.workArrived();
      throw error;
    } finally {
      finishReservation(slot, outcome);
    }
  }

  /** Returns the text that this process has of the session's running turn, committed or not. */
  #streamed(sessionId: string): PartialText | null {
    const session = this.#options.registry.inMemory(sessionId);
    const running = session === null ? null : this.#options.running.ofSession(session.key);
    if (session === null || running === null) return null;
    return { turn: running.turn.turn, epoch: running.turn.epoch, text: session.streamingText };
  }

  /** Throws `AppGone` if the configuration was replaced since the route checked access. */
  #app(name: string): AppDefinition {
    const app = this.#options.apps.get(name);
    if (app === null) throw new AppGone();
    return app;
  }
}

function positionOf({
  spelling,
  life,
  head,
  app,
  epoch,
  streaming,
  pendingActions,
}: Session): SessionPosition {
  return { spelling, life, head, app, epoch, streaming, pendingActions };
}

/** Returns the part of a chat's input that its request, its App and the limits determine. */
function chatInputOf(
  { idempotencyKey: key, message, publicKey, userState, clientId }: ChatRequest,
  app: AppDefinition,
  limits: ConversationsOptions["limits"],
): Omit<ChatInput, "streamed" | "claim" | "fullProviders"> {
  return {
    app: app.name,
    messageId: randomUUID(),
    text: message,
    publicKey,
    userState,
    clientId,
    onBusy: app.onBusy,
    ...limits,
    models: app.models,
    idempotency:
      key === null ? null : { key, digest: createHash("sha256").update(message).digest("base64url") },
  };
}
