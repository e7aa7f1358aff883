// The agent loop of one turn: model step, tools, model step, until the model requests no more tools. Every
// step is durable before the next one starts, so that a turn resumed after a crash repeats no finished step.

import { isDeepStrictEqual } from "node:util";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Attachment } from "@colloquy/protocol";
import type { ModelMessage } from "ai";
import { TOO_MANY_CALLS } from "../core/commands/step-with-calls.ts";
import { OutputBudget, type StepCall, type ToolCallRecord, waitsForPerson } from "../core/message.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { FailureFacts, ModelCatalog, PromptRules } from "../core/ports/driven/model.ts";
import type { SchemaChecks } from "../core/ports/driven/schema-check.ts";
import type { Toolset, TurnTools } from "../core/ports/driven/tool.ts";
import {
  MAX_CALLS,
  type NewStep,
  type StartedTurn,
  type StepRecord,
  type TokenUsage,
  type TurnFailure,
} from "../core/turn.ts";
import { type PartOfFile, readFiles, type TurnFiles } from "./attached-files.ts";
import { historyBudget, HistoryWindow, instructionsFor, summaryThreshold } from "./history.ts";
import type { TurnJournal, TurnJournals, WorkQueue } from "./journal.ts";
import { type ModelCaller, type ModelStep, retryModel } from "./model-step.ts";
import { choiceFor, type OfferedTools } from "./offered-tools.ts";
import { acceptedForm, filesIn, noteOrigin, type PromptForm, promptOf } from "./prompt.ts";
import { TurnDeadline, type TurnLimits } from "./running-turns.ts";
import { argumentBytes } from "./step-content.ts";
import { checkAnswer, splitRejection } from "./structured-answer.ts";
import {
  assignSlots,
  type CallContext,
  decideCalls,
  refusalsOf,
  runToolCalls,
  type ToolResults,
} from "./tool-calls.ts";

export interface RunOptions {
  readonly models: ModelCatalog;
  readonly caller: ModelCaller;
  readonly tools: Toolset;
  readonly schemas: SchemaChecks;
  /** Absent if the service stores no files: they are described then. */
  readonly files?: TurnFiles;
  readonly clock: Clock;
  readonly limits: TurnLimits;
  /** The App's instructions, or `null`. */
  readonly instructions: string | null;
  /** True to use summaries in prompts and to summarize long histories. */
  readonly summarizes?: boolean;
  /** Called after a turn has ended and stored a summary job. */
  readonly onSummaryDue?: (() => void) | undefined;
  /** Called with the usage of each finished step. */
  readonly onUsage: (usage: TokenUsage) => void;
  /** Called with the provider's error if it rejects the conversation, before each retry with another prompt. */
  readonly onRefusedHistory: (error: unknown) => void;
  /** Called with the code of a failure and the model's error, for the operator, before the user sees the failure. */
  readonly onFailure: (code: string, error: unknown) => void;
  /** Aborted to stop the turn, by code that also reports the stop. */
  readonly signal: AbortSignal;
}

const REFUSED: TurnFailure = {
  code: "model_refused",
  message:
    "The assistant's model provider stopped this answer because of its rules on content. Try to say it differently.",
};

/** Failure of a waiting turn whose App was removed from the configuration, and with it its model and tools. */
const APP_GONE: TurnFailure = {
  code: "app_gone",
  message:
    "This assistant is no longer offered, so your message cannot be answered. Start a new conversation.",
};

const SCHEMA_MISMATCH: TurnFailure = {
  code: "schema_mismatch",
  message:
    "The assistant's answer did not have the requested form. Send your message again, or request a simpler form.",
};

const STEP_LIMIT: TurnFailure = {
  code: "turn_step_limit",
  message:
    "The assistant needed more steps than one answer may have, and was stopped. Ask for less at a time.",
};

/** Tool result for a stored call that now requires approval but was stored without an approval request. */
const APPROVAL_REQUIRED_NOW =
  "This call was not made: a person has to be asked before it now, and nobody was. Call the tool again if it is still needed: then the person is asked.";

/** How a run ended. `stopped`: aborted or superseded; `waiting`: suspended until a person decides. */
export const RUN_ENDS = ["complete", "failed", "stopped", "waiting"] as const;
export type RunEnd = (typeof RUN_ENDS)[number];

export interface TurnRunnerOptions
  extends Pick<
    RunOptions,
    "models" | "caller" | "tools" | "schemas" | "files" | "clock" | "limits" | "onSummaryDue"
  > {
  readonly apps: Pick<AppCatalog, "get">;
  readonly journals: TurnJournals;
  readonly hub: Pick<EventHub, "follow">;
  readonly logger: Logger;
  readonly metrics: {
    turnEnded(end: RunEnd): void;
    tokensUsed(usage: TokenUsage): void;
    historyRefused(): void;
  };
}

/** Runs acquired turns, each with its own journal. */
export class TurnRunner {
  readonly #options: TurnRunnerOptions;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** Runs a turn to its end. Rejects on a defect. The journal notifies `queue` of turns that may be claimed next. */
  async run(turn: StartedTurn, signal: AbortSignal, queue: WorkQueue): Promise<void> {
    const { apps, hub, journals, logger, metrics, models } = this.#options;
    // An interrupt may be committed on another node.
    const following = hub.follow(turn.sessionId);
    try {
      const journal = await journals.open(turn, signal, queue, following);
      try {
        const app = apps.get(turn.app);
        const end =
          app === null
            ? endOf(await journal.fail(APP_GONE))
            : await runTurn(turn, journal, {
                ...this.#options,
                instructions: app.instructions,
                summarizes: app.compaction === "summary",
                signal,
                onUsage: (usage) => metrics.tokensUsed(usage),
                onRefusedHistory: (error) => {
                  metrics.historyRefused();
                  const fields = failureFields(turn, "history_refused", models.failureFacts(error));
                  logger.warn(
                    fields,
                    "a provider refused the conversation; trying a shorter or plainer form of it",
                  );
                },
                onFailure: (code, error) =>
                  logger.warn(failureFields(turn, code, models.failureFacts(error)), "a turn failed"),
              });
        metrics.turnEnded(end);
      } finally {
        journal.close();
      }
    } finally {
      following.stop();
    }
  }
}

/** Returns the end of a turn that should fail, but may have been stopped first. */
const endOf = (hasFailed: boolean): RunEnd => (hasFailed ? "failed" : "stopped");

/** Returns log fields without the error's message, which may quote the conversation. */
function failureFields(
  { sessionId, number: turn, model }: StartedTurn,
  code: string,
  facts: FailureFacts,
): object {
  return { code, rig: model, session: sessionId, turn, ...facts };
}

/**
 * Runs an acquired turn to its end. Failures of models and tools go to the journal; rejects on defects and
 * store failures.
 */
export async function runTurn(turn: StartedTurn, journal: TurnJournal, options: RunOptions): Promise<RunEnd> {
  const deadline = new TurnDeadline(options.clock, options.limits, turn.ranMs);
  try {
    const signal = AbortSignal.any([options.signal, deadline.signal]);
    const end = signal.aborted
      ? "stopped"
      : await new AgentLoop(
          turn,
          journal,
          { ...options, signal, tools: await options.tools.open(turn, signal) },
          deadline,
        ).run();
    if (end !== "stopped" || options.signal.aborted || deadline.failure === null) return end;
    options.onFailure(deadline.failure.code, null);
    return endOf(await journal.fail(deadline.failure));
  } catch (error) {
    // Stops the turn's concurrent work.
    deadline.abort();
    throw error;
  } finally {
    deadline.stop();
  }
}

/** A stored step that is not the last one. */
interface EndedStep {
  readonly step: StepRecord;
  readonly results: ToolResults;
}

interface Prompt {
  readonly form: PromptForm;
  /** Number of messages and steps with files; 0 if all files are described. */
  readonly withFiles: number;
  readonly messages: readonly ModelMessage[];
}

/** Returns true if a message or a result has a file that is not sent as text. */
function hasBinary(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    ({ role, content }) =>
      role !== "assistant" &&
      typeof content !== "string" &&
      content.some(
        (part) =>
          part.type === "file" ||
          (part.type === "tool-result" &&
            part.output.type === "content" &&
            part.output.value.some(({ type }) => type === "file")),
      ),
  );
}

/** Shared by all turns, because the model caller uses the array as a cache key. */
const NO_TOOLS: TurnTools["definitions"] = [];

interface LoopOptions extends Omit<RunOptions, "tools"> {
  readonly tools: TurnTools;
}

/** The loop of one turn. Stores the results of calls, so that a later run can read them from `history`. */
class AgentLoop {
  readonly #turn: StartedTurn;
  readonly #journal: TurnJournal;
  readonly #options: LoopOptions;
  readonly #deadline: TurnDeadline;
  readonly #rules: PromptRules;
  readonly #callIds: string[];
  /** Bytes of the answer's stored arguments so far. */
  #argumentBytes: number;
  /** True if an answer of this turn was rejected, perhaps before a crash. */
  #hasRejected = false;
  /** Prompt form that the provider accepts. */
  #form: PromptForm = "native";
  /** Messages and steps whose files the provider accepts in this turn. The files of others are described. */
  #takenFiles: "all" | "latest" | "none" = "all";
  /** `null` until the history is read. */
  #history: HistoryWindow | null = null;
  /** Size in bytes above which the history is summarized. */
  #summaryThreshold = Infinity;
  #callContext: CallContext;
  /** Tool definitions sent to the model. */
  readonly #offered: OfferedTools;

  constructor(turn: StartedTurn, journal: TurnJournal, options: LoopOptions, deadline: TurnDeadline) {
    this.#turn = turn;
    this.#journal = journal;
    this.#options = options;
    this.#deadline = deadline;
    this.#rules = options.models.promptRules(turn.model);
    this.#callIds = turn.agentMessage.toolCalls.map(({ id }) => id);
    this.#argumentBytes = argumentBytes(turn.agentMessage.toolCalls);
    const { tools, clock, limits, signal } = options;
    const definitions = (this.#rules.tools ?? true) ? tools.definitions : NO_TOOLS;
    this.#offered = options.caller.offer(definitions, options.models.toolRules(turn.model));
    this.#callContext = {
      turn,
      tools,
      files: options.files,
      outputs: new OutputBudget(turn.agentMessage),
      clock,
      timeoutMs: limits.toolMs,
      signal,
      onProgress: () => deadline.progress(),
    };
  }

  async run(): Promise<RunEnd> {
    const turn = this.#turn;
    if (turn.openCalls.length > 0 && !(await this.#resumeCalls(turn.openCalls))) return "stopped";
    if (waitsForPerson(turn.agentMessage)) return await this.#wait();
    const { models } = this.#options;
    let model: LanguageModelV4;
    try {
      model = await models.resolve(turn.model);
    } catch (error) {
      return await this.#fail(models.describeFailure(error), error);
    }
    const instructions = instructionsFor(this.#options.instructions, turn);
    const history = await this.#readHistory(instructions);
    if (history === null) return "stopped";
    this.#form = acceptedForm(history.entries(), this.#rules.origin);
    return await this.#steps(model, instructions, history);
  }

  /** Returns `null` if the turn must stop. */
  async #readHistory(instructions: string): Promise<HistoryWindow | null> {
    const window = this.#options.models.contextWindow(this.#turn.model);
    const budget = historyBudget(window, instructions, this.#offered.bytes);
    const { summarizes = false } = this.#options;
    let past = await this.#journal.history(budget, summarizes);
    if (past === null) return null;
    this.#history = new HistoryWindow(past, this.#rules, budget, summarizes);
    if (this.#history.hasUnusedSummary) {
      // Read the turns that the summary replaces.
      past = await this.#journal.history(budget);
      if (past === null) return null;
      this.#history = new HistoryWindow(past, this.#rules, budget);
    }
    const messages = past.flatMap(({ agentMessage, steered = [] }) => [...steered, agentMessage]);
    this.#callIds.push(...messages.flatMap((message) => message?.toolCalls.map(({ id }) => id) ?? []));
    this.#hasRejected = past.at(-1)?.steps.some((step) => splitRejection(step).rejection !== null) ?? false;
    this.#summaryThreshold = summarizes
      ? summaryThreshold(window, instructions, this.#offered.bytes)
      : Infinity;
    return this.#history;
  }

  async #steps(model: LanguageModelV4, instructions: string, begun: HistoryWindow): Promise<RunEnd> {
    let history = begun;
    for (let number = this.#turn.stepsDone + 1; number <= this.#options.limits.maxSteps; number += 1) {
      const beginning = number === 1 ? "same" : await this.#journal.beginStep(number);
      const changed = beginning === "steered" ? await this.#readHistory(instructions) : history;
      if (beginning === "stopped" || changed === null) return "stopped";
      if (changed !== history) this.#beginMessage();
      history = changed;
      const step = await this.#callModel(number, model, instructions, history);
      if (step.kind === "aborted") return "stopped";
      if (step.kind === "failed") {
        return await this.#fail(this.#options.models.describeFailure(step.error), step.error);
      }
      this.#options.onUsage(step.usage);
      // Keep the text before the filter, and run none of the step's calls.
      if (step.finishReason === "content-filter") return await this.#fail(REFUSED);
      const { text, usage, finishReason, sources } = step;
      const parts = noteOrigin(step.parts, this.#rules.origin, this.#form);
      const record = { number, text, parts, usage, finishReason, sources };
      const done =
        step.calls.length === 0 ? await this.#answer(record) : await this.#handleCalls(record, step);
      if (typeof done === "string") return done;
      history.addStep(this.#turn.number, done.step, done.results);
    }
    return await this.#fail(STEP_LIMIT);
  }

  /** Budget for the summary of a history above the threshold, or that the provider refuses; `null` for others. */
  get #summaryBudget(): number | null {
    const { bytes = 0, budget = 0 } = this.#history ?? {};
    const isShort = bytes <= Math.min(this.#summaryThreshold, budget);
    return isShort || this.#summaryThreshold === Infinity ? null : budget;
  }

  /** The limits of an answer's arguments and outputs are those of one message. */
  #beginMessage(): void {
    this.#argumentBytes = 0;
    this.#callContext = { ...this.#callContext, outputs: new OutputBudget({ toolResults: [] }) };
  }

  /**
   * Completes the turn with a step without calls. Continues instead if the answer is rejected and the model
   * may try again.
   */
  async #answer(record: NewStep): Promise<EndedStep | RunEnd> {
    const { schemas, limits } = this.#options;
    const { responseSchema: schema } = this.#turn.options;
    const checked =
      schema === undefined ? null : await checkAnswer(record, schema, schemas.of(this.#turn.app));
    if (checked?.kind === "rejected") {
      if (this.#hasRejected || record.number === limits.maxSteps) return await this.#fail(SCHEMA_MISMATCH);
      this.#hasRejected = true;
      const { step } = checked;
      return (await this.#journal.rejectStep(step)) ? { step, results: new Map() } : "stopped";
    }
    const step = checked === null ? record : { ...record, data: checked.data };
    this.#history?.addStep(this.#turn.number, step, new Map());
    return this.#ended(await this.#journal.complete(step, this.#summaryBudget), "complete");
  }

  /**
   * Calls the model. If the provider refuses the prompt, retries with a shorter or plainer one, and keeps that
   * for the rest of the turn. The conversation keeps the plain form for this model.
   */
  async #callModel(
    number: number,
    model: LanguageModelV4,
    instructions: string,
    history: HistoryWindow,
  ): Promise<ModelStep> {
    let prompt = await this.#promptOf(history);
    for (;;) {
      const step = await this.#callWith(number, model, instructions, prompt.messages);
      const other =
        step.kind === "failed" && !step.hasStreamed
          ? await this.#otherPrompt(step.error, history, prompt)
          : null;
      if (step.kind !== "failed" || other === null) {
        if (step.kind === "finished") this.#form = prompt.form;
        return step;
      }
      this.#options.onRefusedHistory(step.error);
      prompt = other;
    }
  }

  async #promptOf(history: HistoryWindow, form = this.#form): Promise<Prompt> {
    const entries = history.entries();
    const attachments = entries.map(filesIn).filter(({ length }) => length > 0);
    const partOf = await this.#partOfFiles(attachments, history.budget);
    // Some providers reject tool calls in the history if the request declares no tools.
    const sent = this.#offered.definitions.length === 0 ? "plain" : form;
    const messages = promptOf(entries, this.#rules, sent, partOf);
    return { form, withFiles: partOf === undefined ? 0 : attachments.length, messages };
  }

  /** Returns a prompt that the provider may accept after it has refused one; `null` if there is none. */
  async #otherPrompt(error: unknown, history: HistoryWindow, refused: Prompt): Promise<Prompt | null> {
    const { refusesHistory = false, code } = this.#options.models.describeFailure(error);
    const isTooLong = code === "model_context_overflow";
    // An image that the provider's rules forbid would fail every later turn.
    const mayBeImage = code === "model_refused" && hasBinary(refused.messages);
    if (!refusesHistory && !isTooLong && !mayBeImage) return null;
    if (isTooLong && history.shrink()) return await this.#promptOf(history, refused.form);
    // Describe files even if the error names another reason: an error of one kind often names the other.
    if (refused.withFiles > 0 && (isTooLong || hasBinary(refused.messages))) {
      this.#takenFiles = this.#takenFiles === "all" && refused.withFiles > 1 ? "latest" : "none";
      return await this.#promptOf(history, refused.form);
    }
    if (isTooLong || mayBeImage) return null;
    const plain = await this.#promptOf(history, "plain");
    return isDeepStrictEqual(plain.messages, refused.messages) ? null : plain;
  }

  /** Reads the files of messages; `undefined` to describe all of them. */
  async #partOfFiles(
    messages: readonly (readonly Attachment[])[],
    promptBytes: number,
  ): Promise<PartOfFile | undefined> {
    const { files } = this.#options;
    if (messages.length === 0 || files === undefined || this.#takenFiles === "none") return undefined;
    const isLatestOnly = this.#takenFiles === "latest";
    const { sessionId } = this.#turn;
    return await readFiles(messages, { sessionId, rules: this.#rules, promptBytes, isLatestOnly }, files);
  }

  async #callWith(
    number: number,
    model: LanguageModelV4,
    instructions: string,
    messages: readonly ModelMessage[],
  ): Promise<ModelStep> {
    const { caller, models, clock, limits, signal } = this.#options;
    const call = (): Promise<ModelStep> => {
      this.#journal.beginCall(number);
      return caller.call({
        model,
        instructions,
        messages,
        tools: this.#offered.definitions,
        responseSchema: this.#turn.options.responseSchema,
        sampling: this.#turn.options.sampling,
        toolChoice: choiceFor(this.#turn.options.toolChoice, number, this.#offered),
        usedCallIds: this.#callIds,
        argumentBytes: this.#argumentBytes,
        signal,
        onText: (text) => this.#journal.appendText(text),
        onReasoning: (text) => this.#journal.appendReasoning(text),
        onProgress: () => this.#deadline.progress(),
      });
    };
    const left = (): number => this.#deadline.left;
    return await retryModel(call, { models, clock, signal, maxRetries: limits.maxModelRetries, left });
  }

  /** Stores the step with its calls, then runs those that are neither refused nor waiting for a decision. */
  async #handleCalls(
    record: NewStep,
    step: Extract<ModelStep, { kind: "finished" }>,
  ): Promise<EndedStep | RunEnd> {
    const calls = callsOfStep(step, record.number, this.#options.tools.definitions, this.#offered);
    this.#callIds.push(...calls.map(({ id }) => id));
    this.#argumentBytes += argumentBytes(calls);
    const decided = await decideCalls(
      calls.slice(0, MAX_CALLS),
      this.#callContext,
      this.#options.limits.actionMs,
    );
    if (decided === null) return "stopped";
    const { actions } = decided;
    const waiting = new Set(actions.map(({ callId }) => callId));
    const refusal = { output: TOO_MANY_CALLS, isError: true };
    const unmade = calls.slice(MAX_CALLS).map((call) => ({ ...call, refusal }));
    const placed = [...assignSlots(decided.calls, waiting), ...unmade];
    if (!(await this.#journal.stepWithCalls(record, placed, actions))) return "stopped";
    const results = await runToolCalls(
      placed.filter((call) => call.refusal === undefined && !waiting.has(call.id)),
      this.#journal,
      this.#callContext,
    );
    if (results === null) return "stopped";
    if (actions.length > 0) return await this.#wait();
    return { step: record, results: new Map([...results, ...refusalsOf(placed)]) };
  }

  /** Resumes stored calls of an earlier run: approved calls, and calls that the current configuration allows. */
  async #resumeCalls(calls: readonly ToolCallRecord[]): Promise<boolean> {
    const unapproved = calls.filter(({ phase }) => phase !== "approved");
    const decided = await decideCalls(unapproved, this.#callContext, this.#options.limits.actionMs);
    if (decided === null) return false;
    const unapprovable = { output: APPROVAL_REQUIRED_NOW, isError: true };
    const barred = new Map([
      ...decided.actions.map(({ callId }) => [callId, unapprovable] as const),
      ...decided.calls.flatMap(({ id, refusal }) => (refusal === undefined ? [] : [[id, refusal] as const])),
    ]);
    for (const [callId, outcome] of barred)
      if (!(await this.#journal.toolResult({ callId, ...outcome, durationMs: 0 }))) return false;
    const rest = calls.filter(({ id }) => !barred.has(id));
    return (await runToolCalls(rest, this.#journal, this.#callContext)) !== null;
  }

  /** Suspends the turn when only pending actions are left. Their decision makes it claimable again. */
  async #wait(): Promise<RunEnd> {
    return (await this.#journal.wait()) ? "waiting" : "stopped";
  }

  #ended(hasEnded: boolean, end: RunEnd): RunEnd {
    if (!hasEnded) return "stopped";
    if (this.#summaryBudget !== null) this.#options.onSummaryDue?.();
    return end;
  }

  async #fail({ code, message }: TurnFailure, error: unknown = null): Promise<RunEnd> {
    this.#options.onFailure(code, error);
    return this.#ended(await this.#journal.fail({ code, message }, this.#summaryBudget), "failed");
  }
}

/** Returns the calls of a finished step to store, with their effects and the refusals of oversized arguments. */
function callsOfStep(
  step: Extract<ModelStep, { kind: "finished" }>,
  number: number,
  definitions: TurnTools["definitions"],
  offered: OfferedTools,
): readonly StepCall[] {
  return step.calls.map((call) => {
    // Restore before the policy decision and storage, so that the approved arguments are the ones that run.
    const { name, input } = offered.restore(call.name, call.input);
    // An unknown tool may exist once the turn resumes, so assume that it is unsafe.
    const { effect = "unsafe", title } = definitions.find((tool) => tool.name === name) ?? {};
    return {
      id: call.id,
      name,
      ...(title !== undefined && { title }),
      arguments: call.refusal === null ? input : call.input,
      status: "running",
      effect,
      step: number,
      ...(call.refusal !== null && { refusal: { output: call.refusal, isError: true } }),
    };
  });
}
