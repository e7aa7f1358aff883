// The calls of a step: the policy decision on each before the step is stored (allow, ask a person, or deny),
// then their execution.

import { createHash, randomUUID } from "node:crypto";
import type { ActionRequest, NewAction } from "../core/action.ts";
import type { Attachment } from "@colloquy/protocol";
import type { ToolOutcomeInput } from "../core/commands/call-results.ts";
import { toAttachment } from "../core/file.ts";
import { cleanJson, type JsonValue } from "../core/json.ts";
import { needsIntent, type OutputBudget, type StepCall, type ToolCallRecord } from "../core/message.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { PolicyDecision, ToolFile, TurnTools } from "../core/ports/driven/tool.ts";
import type { StartedTurn } from "../core/turn.ts";
import { untilAborted } from "../core/waiting.ts";
import type { KeptFiles, TurnFiles } from "./attached-files.ts";
import type { TurnJournal } from "./journal.ts";

/** Maximum concurrent calls of one step, because each may hold a connection or a process. */
const MAX_AT_ONCE = 8;

/** The result of a call as a model sees it. */
export interface CallResult {
  readonly output: JsonValue;
  readonly is_error: boolean;
  /** Absent for none. */
  readonly files?: readonly Attachment[];
}

/** Maximum time to store the files of a result. */
const KEEP_MS = 60_000;

export type ToolResults = ReadonlyMap<string, CallResult>;

/** Context that all calls of a turn share. */
export interface CallContext {
  readonly turn: Pick<StartedTurn, "sessionId" | "incarnation" | "number" | "app">;
  readonly tools: TurnTools;
  /** Absent if the service stores no files. */
  readonly files?: TurnFiles | undefined;
  readonly outputs: OutputBudget;
  readonly clock: Clock;
  /** Maximum milliseconds of one call. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface DecidedCalls {
  /** All calls in order, with their decisions to store. */
  readonly calls: readonly StepCall[];
  /** Actions that must be decided before their calls may run. */
  readonly actions: readonly NewAction[];
}

/**
 * Decides calls sequentially, except those already denied. Returns `null` if the turn was stopped in the
 * meantime.
 */
export async function decideCalls(
  calls: readonly StepCall[],
  { tools, signal, onProgress }: Pick<CallContext, "tools" | "signal" | "onProgress">,
  validMs: number,
): Promise<DecidedCalls | null> {
  const decided: StepCall[] = [];
  const actions: NewAction[] = [];
  for (const call of calls) {
    if (call.refusal !== undefined) {
      decided.push(call);
      continue;
    }
    // Pass a copy, so that a rule cannot change the arguments that will run.
    const deciding = tools.decide(call.name, structuredClone(call.arguments));
    // A hanging rule must not delay the end of its turn.
    const decision = await untilAborted(deciding, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (decision === null || signal.aborted) return null;
    onProgress();
    if (decision.kind === "deny") {
      const { kind: _, ...refusal } = decision;
      decided.push({ ...call, refusal });
      continue;
    }
    decided.push(decision.input === undefined ? call : { ...call, input: decision.input });
    if (decision.kind !== "ask") continue;
    actions.push(actionFor(call, decision, validMs));
  }
  return { calls: decided, actions };
}

/** Returns the action of a call. `usualMs` is the time limit if neither the call nor its settings define one. */
function actionFor(
  { id: callId }: StepCall,
  { request, terms }: Extract<PolicyDecision, { kind: "ask" }>,
  usualMs: number,
): NewAction {
  const id = randomUUID();
  const asked = cleanRequest(request);
  if (request.kind === "client_tool") return { id, callId, asked, validMs: request.timeoutMs ?? usualMs };
  if (terms === undefined) return { id, callId, asked, validMs: usualMs };
  const { validMs = usualMs, remindMs = Math.ceil(validMs / 2), approvers } = terms;
  return {
    id,
    callId,
    asked,
    validMs,
    ...(remindMs < validMs && { remindMs }),
    ...(approvers !== undefined && request.kind === "approval" && { approvers }),
  };
}

/** Sanitizes the strings of the request. */
function cleanRequest(action: ActionRequest): ActionRequest {
  return { ...action, request: cleanJson(action.request as JsonValue) } as ActionRequest;
}

/**
 * Assigns slots to a new step's calls: the first ones start with the step. The others are stored as
 * `allowed`, so that a later run may still start them. Refused calls and those in `waiting` take no slot.
 */
export function assignSlots(calls: readonly StepCall[], waiting: ReadonlySet<string>): readonly StepCall[] {
  const running = calls.filter(({ id, refusal }) => refusal === undefined && !waiting.has(id));
  const later = new Set(running.slice(MAX_AT_ONCE));
  return calls.map((call) => (later.has(call) ? { ...call, phase: "allowed" } : call));
}

/** Returns the results of refused calls. */
export function refusalsOf(calls: readonly StepCall[]): ToolResults {
  const refused = calls.flatMap(({ id, refusal }) =>
    refusal === undefined ? [] : [[id, { output: refusal.output, is_error: true }] as const],
  );
  return new Map(refused);
}

/**
 * Runs a step's calls concurrently, a limited number at a time, in order; each result is durable at once. An
 * unsafe call runs only after its intent is durable: the first calls share one write, and a later call shares
 * the write of the result that freed its slot. Returns `null` if the turn was superseded or stopped
 * meanwhile, with results for aborted calls.
 */
export async function runToolCalls(
  calls: readonly ToolCallRecord[],
  journal: TurnJournal,
  run: CallContext,
): Promise<ToolResults | null> {
  const first = calls.slice(0, MAX_AT_ONCE);
  const starts = startsOf(first);
  // If the turn is already stopped, leave the calls unstarted.
  if (starts.length > 0 && (run.signal.aborted || !(await journal.startCalls(starts)))) return null;
  return await new StepCalls(calls.slice(MAX_AT_ONCE), journal, run).run(first);
}

/** Returns the ids of calls that need a durable intent. */
function startsOf(calls: readonly ToolCallRecord[]): readonly string[] {
  return calls.filter(needsIntent).map(({ id }) => id);
}

class StepCalls {
  readonly #queued: ToolCallRecord[];
  readonly #journal: TurnJournal;
  readonly #run: CallContext;
  readonly #results = new Map<string, CallResult>();
  /** True after a refused write or a defect, after which no further call starts. */
  #isOver = false;

  constructor(queued: ToolCallRecord[], journal: TurnJournal, run: CallContext) {
    this.#queued = queued;
    this.#journal = journal;
    this.#run = run;
  }

  async run(first: readonly ToolCallRecord[]): Promise<ToolResults | null> {
    await Promise.all(first.map((call) => this.#useSlot(call)));
    return this.#isOver ? null : this.#results;
  }

  /** Runs a call in its slot, then waiting calls one after the other. */
  async #useSlot(first: ToolCallRecord): Promise<void> {
    let call: ToolCallRecord | undefined = first;
    try {
      while (call !== undefined && !this.#isOver) call = await this.#runAndStore(call);
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  /** Runs a call, stores its result, and returns the call that takes its slot. */
  async #runAndStore(call: ToolCallRecord): Promise<ToolCallRecord | undefined> {
    const outcome = await this.#call(call);
    const next = this.#isOver || outcome === null ? undefined : this.#queued.shift();
    const starts = next === undefined ? [] : startsOf([next]);
    if (outcome === null || !(await this.#journal.toolResult(outcome, starts))) this.#isOver = true;
    return next;
  }

  /** Returns the call's outcome; `null` if the turn was stopped in the meantime. */
  async #call(call: ToolCallRecord): Promise<ToolOutcomeInput | null> {
    const { clock, signal, timeoutMs, tools, turn, outputs, onProgress } = this.#run;
    const began = clock.monotonic();
    const {
      output: whole,
      isError,
      files: given = [],
      ...more
    } = await tools.call(call.name, call.arguments, {
      callId: callKey(turn, call.id),
      decidedInput: call.input ?? call.arguments,
      timeoutMs,
      signal,
      clock,
      onProgress: (progress) => {
        onProgress();
        this.#journal.toolProgress(call.id, progress);
      },
    });
    if (signal.aborted) return null;
    onProgress();
    const durationMs = Math.round(clock.monotonic() - began);
    const { files, refused } = await this.#keep(given);
    if (signal.aborted) return null;
    onProgress();
    const output = outputs.fit(withSentences(whole, refused));
    const kept = files.length > 0 && { files };
    this.#results.set(call.id, {
      output,
      is_error: isError,
      ...(kept && { files: files.map(toAttachment) }),
    });
    return { callId: call.id, output, isError, durationMs, ...kept, ...more };
  }

  async #keep(given: readonly ToolFile[]): Promise<KeptFiles> {
    const { files, turn, clock, outputs, signal } = this.#run;
    if (given.length === 0) return { files: [], refused: [] };
    if (files === undefined) return { files: [], refused: ["[This service keeps no files.]"] };
    const { promise, resolve, reject } = Promise.withResolvers<KeptFiles>();
    const stopping = new AbortController();
    const giveUp = (refused: readonly string[]): void => {
      stopping.abort();
      resolve({ files: [], refused });
    };
    const timer = clock.after(KEEP_MS, () => giveUp(["[The files of this result were not stored in time.]"]));
    const onAbort = (): void => giveUp([]);
    signal.addEventListener("abort", onAbort, { once: true });
    files.keep(turn, given, outputs, stopping.signal).then(resolve, reject);
    try {
      return await promise;
    } finally {
      timer.stop();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** Adds sentences to an output, for files that are not part of the result. */
function withSentences(output: JsonValue, sentences: readonly string[]): JsonValue {
  if (sentences.length === 0) return output;
  if (typeof output === "string") return [output, ...sentences].filter((text) => text !== "").join("\n\n");
  return [...(Array.isArray(output) ? output : output === null ? [] : [output]), ...sentences];
}

/**
 * Returns a globally unique key of a call that stays the same when the call runs again after a crash. A
 * model's own id is neither long nor random: as an idempotency key, it could return one user the result of
 * another. Hexadecimal, so that it is valid in a header.
 */
export function callKey(turn: Pick<StartedTurn, "sessionId" | "incarnation" | "number">, id: string): string {
  const parts = [turn.sessionId, turn.incarnation, turn.number, id];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
