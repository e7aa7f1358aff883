// The journal of a running turn. It writes commands with the turn's fencing token through the registry. It
// publishes text at once, and checkpoints it soon after.

import type { AskedAction } from "../core/action.ts";
import type { TurnTarget } from "../core/commands/command.ts";
import type { SessionCommand } from "../core/commands/index.ts";
import type { ToolOutcomeInput } from "../core/commands/call-results.ts";
import { ServiceError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import { joinStepText, type StepCall } from "../core/message.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { CommandStore, PastTurn, TurnStore } from "../core/ports/driven/store.ts";
import type { NewStep, StartedTurn, TurnFailure } from "../core/turn.ts";
import type { TurnJournal, WorkQueue } from "../turns/journal.ts";
import type { SessionRegistry } from "./session-registry.ts";

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

/** Streamed text is durable within this time (contract section 3). */
const DURABLE_WITHIN_MS = 250;
/** Maximum delay before a checkpoint. `checkpointAfter` shortens it after a slow one. */
const MAX_WAIT_MS = 200;
const MIN_WAIT_MS = 100;
const SPARE_MS = 10;

export interface JournalOptions {
  readonly store: CommandStore & { readonly turns: Pick<TurnStore, "history"> };
  readonly registry: SessionRegistry;
  readonly hub: Pick<EventHub, "publish">;
  readonly clock: Clock;
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
  /** Text of the finished steps (committed or being committed), and of the current step. */
  #finished: string;
  #stepText = "";
  /** Text of the current step without a checkpoint, and the number of characters before it. */
  #unsaved = "";
  #saved = 0;
  #step = 0;
  #timer: Timer | null = null;
  #saving = false;
  /** Duration of the last checkpoint in milliseconds. */
  #tookMs = 0;
  /** True if text became due while a checkpoint was in progress. */
  #isLate = false;
  /** True if the last checkpoint failed. */
  #isFailing = false;

  constructor(turn: StartedTurn, options: JournalOptions) {
    this.#turn = turn;
    const { sessionId, sessionKey, number, epoch } = turn;
    this.#target = { turn: { sessionId, sessionKey, number, epoch } };
    this.#options = options;
    this.#finished = turn.agentMessage.content;
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

  async history(maxCharacters: number): Promise<readonly PastTurn[] | null> {
    const { number, stepsDone, userText, agentMessage } = this.#turn;
    if (number > 1 || stepsDone > 0)
      return await this.#persist(() => this.#options.store.turns.history(this.#turn, maxCharacters));
    // The first turn of a session has no history before its first step ends.
    return [{ number, state: "running", userMessage: { content: userText }, agentMessage, steps: [] }];
  }

  /**
   * A delta is kept in the session's message (for snapshots), in the feed's `StreamingTexts` (for subscribers who join), in `#stepText` (to
   * show the step again after a load) and in `#unsaved` (for the next checkpoint).
   */
  appendText(text: string): void {
    // A superseded turn must publish nothing.
    if (this.#options.signal.aborted) return;
    const { sessionId, incarnation, epoch, agentMessage } = this.#turn;
    const session = this.#options.registry.ofIncarnation(sessionId, incarnation);
    const growth = session?.grow(agentMessage.id, this.#stepText, text) ?? null;
    if (growth !== null) {
      this.#options.hub.publish(sessionId, { kind: "delta", incarnation, epoch, ...growth });
    }
    this.#stepText += text;
    this.#unsaved += text;
    this.#schedule();
  }

  async stepWithCalls(
    step: NewStep,
    calls: readonly StepCall[],
    asked: readonly AskedAction[],
  ): Promise<boolean> {
    this.#endStep(step.text);
    const input = { step, calls, asked };
    return await this.#write({ kind: "stepWithCalls", target: this.#target, input });
  }

  async rejectStep(step: NewStep): Promise<boolean> {
    this.#endStep("");
    return await this.#write({ kind: "rejectStep", target: this.#target, input: { step } });
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
    return await this.#write({ kind: "toolResult", target: this.#target, input: { outcome, starts } });
  }

  async complete(step: NewStep): Promise<boolean> {
    this.#endStep(step.text);
    return await this.#end({ kind: "complete", target: this.#target, input: { step } });
  }

  async fail(failure: TurnFailure): Promise<boolean> {
    this.#endStep(this.#stepText);
    return await this.#end({ kind: "fail", target: this.#target, input: { text: this.#finished, failure } });
  }

  /** Stops writing. Must be called when the run has ended, however it ended. */
  close(): void {
    this.#endStep("");
  }

  async #end(command: SessionCommand): Promise<boolean> {
    const applied = await this.#persist(() => this.#options.registry.execute(command));
    if (applied?.record.status === "processing") this.#options.queue.workArrived(0);
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

  async #checkpoint(): Promise<void> {
    this.#timer?.stop();
    this.#timer = null;
    this.#isLate = this.#saving;
    if (this.#saving || this.#unsaved === "" || this.#options.signal.aborted) return;
    const text = this.#unsaved;
    const offset = this.#saved;
    const step = this.#step;
    this.#unsaved = "";
    this.#saved += text.length;
    this.#saving = true;
    const begun = this.#options.clock.monotonic();
    try {
      const input = { offset, text };
      await this.#options.store.execute({ kind: "checkpoint", target: this.#target, input });
      this.#isFailing = false;
    } catch (error) {
      if (step === this.#step) {
        this.#unsaved = text + this.#unsaved;
        this.#saved = offset;
      }
      // Logged once, because it is retried five times a second.
      if (!this.#isFailing) this.#options.logger.warn({ err: error }, "could not checkpoint streaming text");
      this.#isFailing = true;
    } finally {
      this.#saving = false;
      this.#tookMs = this.#options.clock.monotonic() - begun;
    }
    if (this.#unsaved === "") return;
    if (this.#isLate) await this.#checkpoint();
    else this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= this.#options.clock.after(checkpointAfter(this.#tookMs), () => void this.#checkpoint());
  }

  /** Starts a new step after `text`, the whole text of the current one, was passed to a commit. */
  #endStep(text: string): void {
    this.#timer?.stop();
    this.#timer = null;
    this.#finished = joinStepText(this.#finished, text);
    this.#stepText = "";
    this.#unsaved = "";
    this.#saved = 0;
    this.#step += 1;
  }
}

/** Opens a turn's journal; the session is in memory when this resolves. */
export async function openJournal(turn: StartedTurn, options: JournalOptions): Promise<StoredTurnJournal> {
  const journal = new StoredTurnJournal(turn, options);
  await journal.open();
  return journal;
}

/** Returns the milliseconds until the next checkpoint, after one that took `tookMs`. */
function checkpointAfter(tookMs: number): number {
  return Math.max(MIN_WAIT_MS, Math.min(MAX_WAIT_MS, DURABLE_WITHIN_MS - SPARE_MS - tookMs));
}
