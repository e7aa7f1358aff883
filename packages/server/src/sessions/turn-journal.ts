// The journal of one running turn: its writes go to the store under the turn's identity, then to the live session and the bus like every
// other commit; its text is shown at once and checkpointed soon after.

import type { AskedAction } from "../core/action.ts";
import type { ToolOutcomeInput } from "../core/commands/tool-calls.ts";
import { ServiceError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import { joinStepText, type StepCall } from "../core/message.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed } from "../core/ports/driven/session-store.ts";
import type { PastTurn, TurnStore } from "../core/ports/driven/turn-store.ts";
import type { StartedTurn, StepRecord, TurnFailure } from "../core/turn.ts";
import type { TurnJournal, TurnJournals, WorkQueue } from "../turns/journal.ts";
import type { SessionRegistry } from "./session-registry.ts";

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

/** Streamed text is durable within this time (contract section 3). */
const DURABLE_WITHIN_MS = 250;
/** A checkpoint starts sooner if the last one was slow, but a store that cannot keep up is not asked ever more often. */
const MAX_WAIT_MS = 200;
const MIN_WAIT_MS = 100;
const SPARE_MS = 10;

export interface JournalsOptions {
  readonly store: TurnStore;
  readonly registry: SessionRegistry;
  readonly hub: Pick<EventHub, "publish">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StoredTurnJournals implements TurnJournals {
  readonly #options: JournalsOptions;

  constructor(options: JournalsOptions) {
    this.#options = options;
  }

  async open(turn: StartedTurn, signal: AbortSignal, queue: WorkQueue): Promise<StoredTurnJournal> {
    const journal = new StoredTurnJournal(turn, { ...this.#options, signal, queue });
    await journal.open();
    return journal;
  }
}

interface JournalOptions extends JournalsOptions {
  readonly signal: AbortSignal;
  readonly queue: WorkQueue;
}

export class StoredTurnJournal implements TurnJournal {
  readonly #turn: StartedTurn;
  readonly #options: JournalOptions;
  /** Text of the steps that have ended, committed or about to be, and of the current one. */
  #finished: string;
  #said = "";
  /** Text of the current step that is not checkpointed, and the characters of the step before it. */
  #unsaved = "";
  #saved = 0;
  #step = 0;
  #timer: Timer | null = null;
  #saving = false;
  /** Milliseconds that the last checkpoint took. */
  #tookMs = 0;
  /** Whether text has become due while other text was on its way to the disk. */
  #isLate = false;
  /** Whether the last checkpoint has failed. */
  #isFailing = false;

  constructor(turn: StartedTurn, options: JournalOptions) {
    this.#turn = turn;
    this.#options = options;
    this.#finished = turn.agentMessage.content;
  }

  /**
   * Brings the session into memory, where what streams is shown; while it works it does not leave. A session that is gone is no
   * failure: the next write answers that the turn may no longer write.
   */
  async open(): Promise<void> {
    const { registry } = this.#options;
    const { sessionId, life } = this.#turn;
    if (registry.ofIncarnation(sessionId, life) !== null) return;
    await this.#persist(
      () => registry.find(sessionId),
      () => undefined,
    );
  }

  async history(maxCharacters: number): Promise<readonly PastTurn[] | null> {
    return pastOfBeginning(this.#turn) ?? (await this.#stored(maxCharacters));
  }

  async #stored(maxCharacters: number): Promise<readonly PastTurn[] | null> {
    return await this.#persist(
      () => this.#options.store.history(this.#turn, maxCharacters),
      (turns) => turns,
    );
  }

  say(text: string): void {
    // What a turn says that has lost its right to run is nobody's any longer.
    if (this.#options.signal.aborted) return;
    const { sessionId, life, epoch, agentMessage } = this.#turn;
    const session = this.#options.registry.ofIncarnation(sessionId, life);
    const growth = session?.grow(agentMessage.id, this.#said, text) ?? null;
    if (growth !== null) {
      this.#options.hub.publish(sessionId, { kind: "delta", life, epoch, ...growth });
    }
    this.#said += text;
    this.#unsaved += text;
    this.#schedule();
  }

  async stepWithCalls(
    step: StepRecord,
    calls: readonly StepCall[],
    asked: readonly AskedAction[],
  ): Promise<boolean> {
    this.#endStep(step.text);
    return await this.#write(() => this.#options.store.stepWithCalls(this.#turn, step, calls, asked));
  }

  async wait(): Promise<boolean> {
    const { store, registry, queue } = this.#options;
    const outcome = await this.#persist(
      () => store.wait(this.#turn),
      (committed) => registry.apply(committed).outcome,
    );
    if (outcome === "runnable") queue.workArrived(1);
    return outcome !== null;
  }

  toolProgress(callId: string, progress: JsonValue): void {
    // Progress is worth telling, not worth failing a turn for: what the store does not take is left out.
    const { store, registry } = this.#options;
    registry
      .invalidateOnUnknownOutcome(this.#turn.sessionId, store.toolProgress(this.#turn, callId, progress))
      .then((committed) => committed !== null && registry.apply(committed))
      .catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, "a tool's progress was not stored"),
      );
  }

  async startCalls(callIds: readonly string[]): Promise<boolean> {
    return await this.#write(() => this.#options.store.startCalls(this.#turn, callIds));
  }

  async toolResult(outcome: ToolOutcomeInput, starts: readonly string[] = []): Promise<boolean> {
    return await this.#write(() => this.#options.store.toolResult(this.#turn, outcome, starts));
  }

  async complete(step: StepRecord): Promise<boolean> {
    this.#endStep(step.text);
    return await this.#end(() => this.#options.store.complete(this.#turn, step));
  }

  async fail(failure: TurnFailure): Promise<boolean> {
    this.#endStep(this.#said);
    const text = this.#finished;
    return await this.#end(() => this.#options.store.fail(this.#turn, text, failure));
  }

  /** Nothing more is written; call it when the run is over, however it ended. */
  close(): void {
    this.#endStep("");
  }

  async #end(operation: () => Promise<Committed<"ok"> | null>): Promise<boolean> {
    const record = await this.#persist(
      operation,
      (committed) => this.#options.registry.apply(committed).record,
    );
    if (record?.status === "processing") this.#options.queue.workArrived(0);
    return record !== null;
  }

  async #write(operation: () => Promise<Committed<"ok"> | null>): Promise<boolean> {
    return (await this.#persist(operation, (committed) => this.#options.registry.apply(committed))) !== null;
  }

  /**
   * A store that fails for a while (a full disk) holds the turn up, and does not end it. `take` gets what was committed at once, so
   * that commits are announced in their order. Answers `null` when the turn is superseded or was stopped meanwhile.
   */
  async #persist<T, R>(operation: () => Promise<T | null>, take: (committed: T) => R): Promise<R | null> {
    const { clock, signal, logger, registry, queue } = this.#options;
    const { sessionId } = this.#turn;
    let hasFailed = false;
    for (let delay = FIRST_RETRY_MS; !signal.aborted; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
      try {
        // It may have been reloaded, and what streams is shown by a session in memory.
        if (hasFailed) await registry.find(sessionId);
        const committed = await registry.invalidateOnUnknownOutcome(sessionId, operation());
        if (committed === null) break;
        return take(committed);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        hasFailed = true;
        logger.warn({ code: error.code }, "a turn waits for the store");
        await clock.sleep(delay, signal).catch(() => undefined);
      }
    }
    // The attempt before may have been stored, and then this turn or the next one may be claimed already.
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
      await this.#options.store.checkpoint(this.#turn, offset, text);
      this.#isFailing = false;
    } catch (error) {
      if (step === this.#step) {
        this.#unsaved = text + this.#unsaved;
        this.#saved = offset;
      }
      // It is tried again five times a second, and a full disk would be full of this line otherwise.
      if (!this.#isFailing) this.#options.logger.warn({ err: error }, "streaming text is not checkpointed");
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

  /** The step's text is being committed as a whole. */
  #endStep(text: string): void {
    this.#timer?.stop();
    this.#timer = null;
    this.#finished = joinStepText(this.#finished, text);
    this.#said = "";
    this.#unsaved = "";
    this.#saved = 0;
    this.#step += 1;
  }
}

/** What the store would answer of a session's first turn that has finished no step; `null` of any other, of which the store has to be asked. */
function pastOfBeginning({
  turn,
  stepsDone,
  userText,
  agentMessage,
}: StartedTurn): readonly PastTurn[] | null {
  if (turn > 1 || stepsDone > 0) return null;
  return [{ number: turn, state: "running", userMessage: { content: userText }, agentMessage, steps: [] }];
}

/** Returns the milliseconds until the next checkpoint, after one that took `tookMs`. */
function checkpointAfter(tookMs: number): number {
  return Math.max(MIN_WAIT_MS, Math.min(MAX_WAIT_MS, DURABLE_WITHIN_MS - SPARE_MS - tookMs));
}
