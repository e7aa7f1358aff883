// Operations on one conversation: chat, state, interrupt, and creating a session. With `Prefer: wait`, they
// return the snapshot when the session stops processing or requests a decision from a person.

import type { ChatOutcome } from "../core/commands/chat.ts";
import type { PartialText } from "../core/commands/command.ts";
import {
  AppGone,
  InvalidRequest,
  SessionDeleted,
  type ServiceError,
  throwAfterCommit,
  Unavailable,
} from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub, StreamPosition } from "../core/ports/driven/event-hub.ts";
import type { ChatRequest, SentMessage } from "../core/ports/driving/chat-request.ts";
import type {
  MessageRange,
  NewSessionOptions,
  SessionApp,
  SnapshotView,
  StateRequest,
} from "../core/ports/driving/services.ts";
import type { SchemaChecks, SchemaProblem } from "../core/ports/driven/schema-check.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { toolSchemaOf } from "../core/client-schema.ts";
import { invalidToolSchema, readTurnOptions, type RequestedOptions } from "../core/requested-options.ts";
import type { TurnOptions } from "../core/turn-options.ts";
import type { SessionAccess } from "../core/session-access.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { Dispatcher, Reservation } from "../turns/dispatcher.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import { type Applied, assertShown, type SessionRegistry } from "./session-registry.ts";
import {
  assertNamesFree,
  assertToolsAllowed,
  chatInputOf,
  type ChatLimits,
  chatRejection,
  onBusyOf,
  type PermittedChat,
} from "./chat-input.ts";
import { assertOffered } from "./model-choice.ts";
import type { VersionReads } from "./replica-sync.ts";
import type { Session } from "./session.ts";
import type { Titles } from "./titles.ts";

export interface ConversationsOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  readonly running: RunningTurns;
  readonly titles: Titles;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly hub: Pick<EventHub, "follow">;
  /** `null` if no other process changes the store. */
  readonly versions: Pick<VersionReads, "of"> | null;
  readonly schemas: SchemaChecks;
  /** Limits that are checked for every chat. */
  readonly limits: ChatLimits;
}

type AcceptedChat = Exclude<ChatOutcome, { kind: "rejected" }>;
type SnapshotRequest = Pick<ChatRequest, "sessionId" | "access" | "messages" | "waitMs" | "signal">;

const NEVER = new AbortController().signal;

/** Text of a running turn, `null` for none. No more is published until `release` is called. */
interface FrozenText {
  readonly streamed: PartialText | null;
  release(): void;
}

const NOT_FROZEN: FrozenText = { streamed: null, release: () => undefined };

/**
 * Operations on one conversation. If `access` does not include the session, methods throw `OtherApp`, or
 * `NotFound` for another user's session, and change nothing. `null` grants access to all sessions.
 */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #stopped = new AbortController();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  async chat(request: ChatRequest, creation: NewSessionOptions): Promise<SnapshotView> {
    const sent = await this.#send(request, creation, {});
    return await this.#snapshotAfter(sent, request);
  }

  /**
   * Like `chat`, without waiting, for adapters that follow the turn themselves. The message never steers
   * another turn.
   */
  async send(request: ChatRequest, creation: NewSessionOptions): Promise<SentMessage> {
    const { outcome, session } = await this.#send(request, creation, { hasOwnTurn: true });
    const isRepeat = outcome.kind === "replayed";
    const present = await this.#present(session, request.sessionId).catch(throwAfterCommit);
    return { turn: outcome.turn, isRepeat, position: present.position };
  }

  async #send(
    request: ChatRequest,
    creation: NewSessionOptions,
    { hasOwnTurn = false }: { readonly hasOwnTurn?: boolean },
  ): Promise<Applied<AcceptedChat>> {
    const { dispatcher } = this.#options;
    const { sessionId, idempotencyKey: key } = request;
    // A repeated chat adds no turn, so it passes even if the queue is full.
    const isKnown = async () => key !== null && (await this.isRepeat(sessionId, key));
    if ((await dispatcher.isFull()) && !(await isKnown())) {
      // Contract section 3.
      const detail = "Too many messages wait for the assistant at the moment. Send this one again later.";
      throw new Unavailable(503, "too_many_waiting", detail, 5);
    }
    const app = this.#app(request.app);
    if (typeof request.rig === "string") assertOffered(app, "rig", request.rig);
    const options = await this.#readOptions(request.options ?? {}, app);
    const onBusy = onBusyOf(app, request, { hasOwnTurn });
    return await this.#accept({ ...request, options, onBusy }, app, dispatcher.reserve(), creation);
  }

  /** Commits the chat, then starts its turn if a slot was free. */
  async #accept(
    request: PermittedChat,
    app: AppDefinition,
    slot: Reservation,
    creation: NewSessionOptions,
  ): Promise<Applied<AcceptedChat>> {
    const { registry, titles } = this.#options;
    let outcome: ChatOutcome | null = null;
    const interrupts = request.onBusy === "interrupt" || (request.replaces ?? null) !== null;
    // Only an interrupt needs the text, which may be long.
    const { streamed, release } = interrupts ? this.#freezeText(request.sessionId) : NOT_FROZEN;
    try {
      const input = {
        ...chatInputOf(request, app, this.#options.limits),
        streamed,
        claim: slot.claim,
        fullProviders: slot.fullProviders,
      };
      const command = { kind: "chat", input } as const;
      const applied = await registry.executeOrCreate(request.sessionId, request.access, creation, command);
      outcome = applied.outcome;
      if (outcome.kind === "rejected") throw chatRejection(outcome.reason);
      if (outcome.kind === "accepted" && outcome.wantsTitle) {
        const { id, incarnation, utilityModel } = applied.record;
        titles.start({
          sessionId: id,
          incarnation,
          app: app.name,
          utilityModel,
          text: request.message,
          turn: outcome.turn,
        });
      }
      return { ...applied, outcome };
    } catch (error) {
      // The outcome of the commit is unknown: the turn may be stored and claimable.
      if (outcome === null) this.#options.dispatcher.workArrived();
      throw error;
    } finally {
      release();
      // The events of the commit are published, so they precede the first delta of the turn.
      slot.settle(outcome);
    }
  }

  /** Returns true if a chat was already accepted under this `Idempotency-Key`, so that `chat` would replay it. */
  async isRepeat(sessionId: string, key: string): Promise<boolean> {
    return await this.#options.store.jobs.isKeyUsed(sessionId, key);
  }

  /** Returns the snapshot, synchronously if the session is in memory and there is nothing to write or wait for. */
  state(request: StateRequest, creation: NewSessionOptions): SnapshotView | Promise<SnapshotView> {
    if (request.userState === null && request.waitMs === 0) {
      const session = this.#options.registry.getSync(request.sessionId);
      if (session?.isOpenTo(request.access) === true) return session.view(request.messages);
    }
    return this.#state(request, creation);
  }

  async interrupt(
    sessionId: string,
    access: SessionAccess,
    creation: NewSessionOptions,
    messages: MessageRange | null = null,
    turn?: number,
  ): Promise<SnapshotView> {
    const { registry } = this.#options;
    const { streamed, release } = this.#freezeText(sessionId);
    const command = { kind: "interrupt", input: { streamed, turn } } as const;
    const applied = await registry
      .executeOrCreate(sessionId, access, creation, command, { unlessDeleted: true })
      .finally(release);
    return await this.#snapshotAfter(applied, { sessionId, access, messages, waitMs: 0, signal: NEVER });
  }

  /** Interrupts a session of any App; does nothing if it does not exist. */
  async interruptExisting(sessionId: string): Promise<void> {
    const target = { session: sessionId, birth: null, load: false, access: null };
    const { streamed, release } = this.#freezeText(sessionId);
    await this.#options.registry.execute({ kind: "interrupt", target, input: { streamed } }).finally(release);
  }

  /** Creates the session if it does not exist, unless it was deleted a short time ago. */
  async ensure(sessionId: string, access: SessionAccess, creation: NewSessionOptions): Promise<void> {
    await this.#options.registry.ensure(sessionId, access, creation);
  }

  /** Creates the session if it does not exist, and returns the position of its event log. */
  async ensurePosition(
    sessionId: string,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<StreamPosition> {
    return (await this.#options.registry.get(sessionId, access, creation)).position;
  }

  /** Returns the position of the session's event log, or `null` if the session does not exist. */
  async position(sessionId: string, access: SessionAccess | null = null): Promise<StreamPosition | null> {
    const session = await this.#options.registry.find(sessionId);
    if (session === null) return null;
    if (access !== null) assertShown(session, access);
    return session.position;
  }

  /**
   * Returns a session's App; `default` if the session has no App yet or does not exist. Synchronous if the
   * session is in memory and current. Does not count as use of the session.
   */
  appOf(sessionId: string): string | Promise<SessionApp> {
    const { registry, store, versions } = this.#options;
    const session = registry.peekCurrent(sessionId);
    if (session !== null) return session.app;
    if (versions !== null)
      return versions.of(sessionId).then((version) => ({ app: version?.app ?? DEFAULT_APP, version }));
    return store.sessions
      .find(sessionId)
      .then((record) => ({ app: record?.app ?? DEFAULT_APP, version: null }));
  }

  /** Ends the waits of all requests, because the service stops. */
  stopWaiting(): void {
    this.#stopped.abort();
  }

  async #state(request: StateRequest, creation: NewSessionOptions): Promise<SnapshotView> {
    const { sessionId, userState, waitMs, version = null } = request;
    const { registry } = this.#options;
    // Repeating the user state of a session in memory changes nothing, so it counts as a read.
    const isRead = userState === null || registry.inMemory(sessionId) !== null;
    const session = isRead ? await registry.get(sessionId, request.access, creation, version) : null;
    if (session !== null && (userState === null || session.has(userState))) {
      if (waitMs === 0 && !session.isReplaced && !session.isGone) return session.view(request.messages);
      return await this.#snapshot(session, session.head, request);
    }
    await request.admitChange?.();
    const command = { kind: "open", input: { userState, publicKey: null } } as const;
    const merged = await registry.executeOrCreate(sessionId, request.access, creation, command, {
      unlessDeleted: true,
    });
    if (merged.outcome === "user_state_too_large") throw chatRejection("user_state_too_large");
    return await this.#snapshotAfter(merged, request);
  }

  /** Reads the options and checks their schemas, one after the other, so that a chat has one place in the queue. */
  async #readOptions(requested: RequestedOptions, app: AppDefinition): Promise<TurnOptions> {
    assertToolsAllowed(app, requested);
    const options = readTurnOptions(requested);
    const { responseSchema, clientTools = {} } = options;
    assertNamesFree(app, clientTools);
    const schemas = this.#options.schemas.of(app.name);
    if (responseSchema !== undefined) {
      const problem = await schemas.problem(responseSchema);
      if (problem !== null) throw unusableSchema(problem, invalidResponseSchema);
    }
    for (const [name, tool] of Object.entries(clientTools)) {
      const problem = await schemas.problem(toolSchemaOf(tool));
      if (problem !== null)
        throw unusableSchema(problem, (text) =>
          invalidToolSchema(name, `must be a JSON Schema of draft 7: ${text}`),
        );
    }
    return options;
  }

  /**
   * Freezes the text of the session if it is in memory, also of a turn that has yet to start, and returns the text of
   * its running turn.
   */
  #freezeText(sessionId: string): FrozenText {
    const session = this.#options.registry.inMemory(sessionId);
    if (session === null) return NOT_FROZEN;
    const release = session.freezeText();
    const running = this.#options.running.ofSession(session.key);
    const { streaming } = session;
    if (streaming === null || running === null) return { streamed: null, release };
    const streamed = { messageId: streaming.messageId, epoch: running.turn.epoch, text: streaming.text };
    return { streamed, release };
  }

  /** Returns the snapshot after a commit. Its errors must not claim that nothing was changed. */
  async #snapshotAfter(
    { session, record }: Applied<unknown>,
    request: SnapshotRequest,
  ): Promise<SnapshotView> {
    return await this.#snapshot(session, record.head, request).catch(throwAfterCommit);
  }

  /**
   * Returns the snapshot when the session stops processing, when an event after `head` requests a decision
   * from a person, or after `waitMs`. `known` is the session, if the caller has it.
   */
  async #snapshot(
    known: Session | null,
    head: number,
    { sessionId, access, messages, waitMs, signal }: SnapshotRequest,
  ): Promise<SnapshotView> {
    const { clock, hub, registry, versions } = this.#options;
    let session = await this.#present(known, sessionId);
    if (waitMs > 0 && session.isProcessing) {
      const timeOver = new AbortController();
      const timer = clock.after(waitMs, () => timeOver.abort());
      const enough = AbortSignal.any([signal, timeOver.signal, this.#stopped.signal]);
      const following = hub.follow(sessionId);
      try {
        if (versions !== null) {
          // Read what other processes committed before this process followed the session.
          await following.ready;
          session = await this.#present(await registry.find(sessionId), sessionId);
        }
        while (session.isProcessing && !session.hasRequestAfter(head) && !enough.aborted) {
          await session.untilIdleOrAsking(head, enough);
          session = await this.#present(session, sessionId);
        }
      } finally {
        following.stop();
        timer.stop();
      }
    }
    const shown = await this.#withText(session);
    assertShown(shown, access);
    return shown.view(messages);
  }

  /**
   * Returns the session with its latest checkpoint if its turn runs in another process: the one in memory may
   * have older text. Falls back to memory if the store fails.
   */
  async #withText(session: Session): Promise<Session> {
    const { versions, running, registry } = this.#options;
    if (versions === null || !session.isStreaming || running.isRunning(session.key)) return session;
    return (await registry.find(session.id).catch(() => null)) ?? session;
  }

  /** Returns the current object of the session. Throws `NotFound` if another request deleted it. */
  async #present(known: Session | null, sessionId: string): Promise<Session> {
    const isCurrent = known !== null && !known.isReplaced;
    const session = isCurrent ? known : await this.#options.registry.find(sessionId);
    if (session !== null && !session.isGone) return session;
    throw new SessionDeleted();
  }

  /** @throws AppGone if the App is not configured */
  #app(name: string): AppDefinition {
    const app = this.#options.apps.get(name);
    if (app === null) throw new AppGone();
    return app;
  }
}

/** Returns the error for a schema: `invalid` unless it was not checked because the checker is busy. */
function unusableSchema(
  { kind, text }: SchemaProblem,
  invalid: (text: string) => InvalidRequest,
): ServiceError {
  if (kind !== "busy") return invalid(text);
  return new Unavailable(
    503,
    "too_many_waiting",
    "The JSON Schemas of this message cannot be checked at the moment, because too many wait. Send it again later.",
    5,
  );
}

function invalidResponseSchema(problem: string): InvalidRequest {
  return new InvalidRequest(
    "invalid_response_schema",
    `\`response_schema\` cannot be used: ${problem}. Correct the JSON Schema.`,
  );
}
