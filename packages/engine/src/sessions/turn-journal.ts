// The journal of a running turn. It writes commands with the turn's fencing token through the registry. It
// publishes text at once; `TextCheckpoints` stores it soon after.

import { randomUUID } from "node:crypto";
import type { NewAction } from "../core/action.ts";
import type { TurnTarget } from "../core/commands/command.ts";
import type { SessionCommand } from "../core/commands/index.ts";
import type { ToolOutcomeInput } from "../core/commands/call-results.ts";
import { ServiceError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import { joinStepText, type MessageRecord, type StepCall } from "../core/message.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Following, KnownReasoning, KnownText } from "../core/ports/driven/bus.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { CommandStore, PastTurn, TurnStore } from "../core/ports/driven/store.ts";
import type { NewStep, StartedTurn, TurnFailure } from "../core/turn.ts";
import type { TurnJournal, TurnJournals, WorkQueue } from "../turns/journal.ts";
import type { SessionRegistry } from "./session-registry.ts";
import { StepText, type TextCheckpoints } from "./text-checkpoints.ts";

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

export interface JournalOptions {
  readonly store: CommandStore & { readonly turns: Pick<TurnStore, "history"> };
  readonly registry: SessionRegistry;
  readonly hub: Pick<EventHub, "publish">;
  readonly clock: Clock;
  readonly checkpoints: TextCheckpoints;
  readonly logger: Logger;
  /** Aborted when the turn must stop. */
  readonly signal: AbortSignal;
  readonly queue: WorkQueue;
}

export class StoredTurnJournal implements TurnJournal {
  readonly #turn: StartedTurn;
  /** The turn's identity only, because it crosses to the store's thread with every command. */
  readonly #target: TurnTarget;
  readonly #options: JournalOptions;
  /** The agent message that the turn writes. */
  #message: MessageRecord;
  /** True if messages wait to be read at the next step. */
  #isSteered: boolean;
  /** Text of the message's finished steps (committed or being committed), and of the current step. */
  #finished: string;
  #stepText = "";
  /** Reasoning of the current model call. */
  #reasoning: { readonly step: number; text: string } = { step: 0, text: "" };
  /** True once this process receives requests of other processes. */
  #isListening = false;
  /** True once text was published to all processes while listening: they then request the rest. */
  #isTextAnnounced = false;
  /** True once another process has requested this turn's text. */
  #isTextRequested = false;
  /** True once a subscriber has requested this turn's reasoning. */
  #isReasoningRequested = false;
  #unsaved: StepText;

  readonly #onClose: () => void;

  constructor(turn: StartedTurn, options: JournalOptions, onClose: () => void = () => undefined) {
    this.#turn = turn;
    this.#onClose = onClose;
    const { sessionId, sessionKey, number, epoch } = turn;
    this.#target = { turn: { sessionId, sessionKey, number, epoch } };
    this.#options = options;
    this.#message = turn.agentMessage;
    this.#isSteered = turn.isSteered;
    this.#finished = turn.agentMessage.content;
    this.#unsaved = new StepText(turn);
  }

  /**
   * Loads the session, which shows streaming text and is not evicted while the turn runs. Does not fail if
   * the session was deleted: the next write then returns false.
   */
  async open(): Promise<void> {
    const { registry } = this.#options;
    const { sessionId, incarnation } = this.#turn;
    if (registry.ofIncarnation(sessionId, incarnation) !== null) return;
    await this.#persist(() => registry.find(sessionId));
  }

  async history(maxCharacters: number, useSummary = false): Promise<readonly PastTurn[] | null> {
    const { number, stepsDone, userText, attachments, agentMessage } = this.#turn;
    const hasRead = agentMessage.position > 2 || this.#message.id !== agentMessage.id;
    if (number > 1 || stepsDone > 0 || hasRead)
      return await this.#persist(() =>
        this.#options.store.turns.history(this.#turn, maxCharacters, useSummary),
      );
    // The first turn of a session has no history before its first step ends, unless it has read other messages.
    const userMessage = { content: userText, ...(attachments !== undefined && { extras: { attachments } }) };
    return [{ number, state: "running", userMessage, agentMessage, steps: [] }];
  }

  async beginStep(step: number): Promise<"same" | "steered" | "stopped"> {
    if (!this.#isSteered) return "same";
    const input = { step, agentMessageId: randomUUID() };
    const begun = await this.#persist(() =>
      this.#options.registry.execute({ kind: "beginStep", target: this.#target, input }),
    );
    if (begun === null) return "stopped";
    this.#isSteered = false;
    const before = this.#message.id;
    this.#message = begun.outcome;
    if (this.#message.id === before) return "same";
    this.#finished = "";
    return "steered";
  }

  /**
   * Publishes a delta. Its text is kept in the session's message (for snapshots), in the feed's `StreamingTexts` (for
   * new subscribers), in `#stepText` (to restore the step after a load) and in `#unsaved` (until its checkpoint).
   */
  appendText(text: string): void {
    // A superseded turn must publish nothing.
    if (this.#options.signal.aborted) return;
    const { sessionId, incarnation, epoch } = this.#turn;
    const session = this.#options.registry.ofIncarnation(sessionId, incarnation);
    const growth = session?.grow(this.#message.id, this.#stepText, text) ?? null;
    if (growth !== null) {
      const only = this.#isTextAnnounced && !this.#isTextRequested ? "here" : undefined;
      const announces = this.#isTextRequested ? {} : ({ announces: true } as const);
      const delta = { kind: "delta", incarnation, epoch, ...growth, ...announces } as const;
      this.#options.hub.publish(sessionId, delta, only);
      this.#isTextAnnounced = this.#isListening;
    }
    this.#stepText += text;
    this.#options.checkpoints.add(this.#unsaved, text);
  }

  /** Called once this process receives requests of other processes. Until then, it publishes all text to them. */
  listen(): void {
    this.#isListening = true;
  }

  /** Publishes the text beyond `known` to other processes, and all later text of this turn. */
  shareText(known: KnownText | null): void {
    if (this.#options.signal.aborted) return;
    this.#isTextRequested = true;
    const { sessionId, incarnation, epoch } = this.#turn;
    const streaming = this.#options.registry.ofIncarnation(sessionId, incarnation)?.streaming ?? null;
    if (streaming === null) return;
    const { messageId, text } = streaming;
    const isSame = known?.epoch === epoch && known.messageId === messageId && known.length <= text.length;
    const offset = isSame ? known.length : 0;
    const delta = { kind: "delta", incarnation, epoch, messageId, offset, text: text.slice(offset) } as const;
    if (delta.text !== "") this.#options.hub.publish(sessionId, delta, "elsewhere");
  }

  beginCall(step: number): void {
    this.#reasoning = { step, text: "" };
  }

  appendReasoning(text: string): void {
    if (this.#options.signal.aborted) return;
    const offset = this.#reasoning.text.length;
    this.#reasoning.text += text;
    // The first piece announces the reasoning. Subscribers request the rest.
    if (offset === 0 || this.#isReasoningRequested) this.#publishReasoning(offset, text);
  }

  /** Publishes the reasoning beyond `known`, and all later reasoning of this turn. */
  shareReasoning(known: KnownReasoning | null): void {
    if (this.#options.signal.aborted) return;
    this.#isReasoningRequested = true;
    const { step, text } = this.#reasoning;
    const isSame = known?.epoch === this.#turn.epoch && known.step === step;
    const offset = isSame ? known.length : 0;
    if (offset < text.length) this.#publishReasoning(offset, text.slice(offset));
  }

  #publishReasoning(offset: number, text: string): void {
    const { sessionId, incarnation, epoch } = this.#turn;
    const piece = { epoch, messageId: this.#message.id, step: this.#reasoning.step, offset, text };
    this.#options.hub.publish(sessionId, { kind: "reasoning", incarnation, ...piece });
  }

  async stepWithCalls(
    step: NewStep,
    calls: readonly StepCall[],
    actions: readonly NewAction[],
  ): Promise<boolean> {
    await this.#endStep(step.text);
    const input = { step, calls, actions };
    return await this.#progress({ kind: "stepWithCalls", target: this.#target, input });
  }

  async rejectStep(step: NewStep): Promise<boolean> {
    await this.#endStep("");
    return await this.#progress({ kind: "rejectStep", target: this.#target, input: { step } });
  }

  async wait(): Promise<boolean> {
    const { registry, queue } = this.#options;
    const applied = await this.#persist(() =>
      registry.execute({ kind: "wait", target: this.#target, input: null }),
    );
    if (applied?.outcome === "runnable") queue.workArrived(1);
    return applied !== null;
  }

  toolProgress(callId: string, progress: JsonValue): void {
    const { logger, registry } = this.#options;
    // Progress that cannot be stored is dropped, because it must not fail the turn.
    registry
      .execute({ kind: "toolProgress", target: this.#target, input: { callId, progress } })
      .catch((error: unknown) => logger.warn({ err: error }, "a tool's progress was not stored"));
  }

  async startCalls(callIds: readonly string[]): Promise<boolean> {
    return await this.#write({ kind: "startCalls", target: this.#target, input: { callIds } });
  }

  async toolResult(outcome: ToolOutcomeInput, starts: readonly string[] = []): Promise<boolean> {
    return await this.#progress({ kind: "toolResult", target: this.#target, input: { outcome, starts } });
  }

  async complete(step: NewStep, summaryBudget: number | null = null): Promise<boolean> {
    await this.#endStep(step.text);
    return await this.#end({ kind: "complete", target: this.#target, input: { step, summaryBudget } });
  }

  async fail(failure: TurnFailure, summaryBudget: number | null = null): Promise<boolean> {
    await this.#endStep(this.#stepText);
    const input = { text: this.#finished, failure, summaryBudget };
    return await this.#end({ kind: "fail", target: this.#target, input });
  }

  /** Stops writing. Must be called when the run has ended, however it ended. */
  close(): void {
    void this.#endStep("");
    this.#onClose();
  }

  async #end(command: SessionCommand): Promise<boolean> {
    const applied = await this.#persist(() => this.#options.registry.execute(command));
    if (applied?.record.status === "processing") this.#options.queue.workArrived(0);
    return applied !== null;
  }

  /** Writes a command after which a step may begin. */
  async #progress(
    command: Extract<SessionCommand, { readonly kind: "stepWithCalls" | "rejectStep" | "toolResult" }>,
  ): Promise<boolean> {
    const applied = await this.#persist(() => this.#options.registry.execute(command));
    if (applied?.outcome === "steered") this.#isSteered = true;
    return applied !== null;
  }

  async #write(command: SessionCommand): Promise<boolean> {
    return (await this.#persist(() => this.#options.registry.execute(command))) !== null;
  }

  /**
   * Runs `operation`, and retries while the store fails (a full disk), because that must not end the turn.
   * Returns `null` if the turn was superseded or stopped in the meantime.
   */
  async #persist<T>(operation: () => Promise<T | null>): Promise<T | null> {
    const { clock, signal, logger, registry, queue } = this.#options;
    let hasFailed = false;
    for (let delay = FIRST_RETRY_MS; !signal.aborted; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
      try {
        // The session may have been invalidated, and only a session in memory shows streaming text.
        if (hasFailed) await registry.find(this.#turn.sessionId);
        const stored = await operation();
        if (stored !== null) return stored;
        break;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        hasFailed = true;
        logger.warn({ code: error.code }, "a turn waits for the store");
        await clock.sleep(delay, signal).catch(() => undefined);
      }
    }
    // The outcome of a failed attempt is unknown: this turn or the next one may be claimable.
    if (hasFailed) queue.workArrived(0);
    return null;
  }

  /**
   * Starts a new step after `text`, the whole text of the current one, was passed to a commit. Resolves when the
   * commit may remove the stored text.
   */
  async #endStep(text: string): Promise<void> {
    const ended = this.#unsaved;
    this.#finished = joinStepText(this.#finished, text);
    this.#stepText = "";
    this.#reasoning = { ...this.#reasoning, text: "" };
    this.#unsaved = new StepText(this.#turn);
    await this.#options.checkpoints.end(ended);
  }
}

/** Journals of the turns that run in this process. Publishes their text and reasoning on request. */
export class StoredTurnJournals implements TurnJournals {
  readonly #options: Omit<JournalOptions, "signal" | "queue">;
  readonly #bySession = new Map<string, StoredTurnJournal>();

  constructor({
    hub,
    ...options
  }: Omit<JournalOptions, "signal" | "queue" | "hub"> & { readonly hub: EventHub }) {
    this.#options = { ...options, hub };
    hub.listen({
      onNotification: (sessionId, notification, origin) => {
        const journal = this.#bySession.get(sessionId);
        if (notification.kind === "text_requested" && origin === "elsewhere")
          journal?.shareText(notification.known);
        if (notification.kind === "reasoning_requested") journal?.shareReasoning(notification.known);
      },
    });
  }

  async open(
    turn: StartedTurn,
    signal: AbortSignal,
    queue: WorkQueue,
    following: Following,
  ): Promise<StoredTurnJournal> {
    const { sessionId } = turn;
    const journal = new StoredTurnJournal(turn, { ...this.#options, signal, queue }, () => {
      // A superseded turn may close after the next one has opened its journal.
      if (this.#bySession.get(sessionId) === journal) this.#bySession.delete(sessionId);
    });
    this.#bySession.set(sessionId, journal);
    void following.ready.then(() => journal.listen());
    await journal.open();
    return journal;
  }
}
