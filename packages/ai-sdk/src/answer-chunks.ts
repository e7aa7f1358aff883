// An agent message as chunks of the AI SDK's UI message stream. The whole answer is one step, so that
// `reset-step` drops all of it and the stream can send it again.

import type { Message, PendingAction, ReasoningDelta, ToolCall } from "@colloquy/protocol";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import type { UIMessageChunk } from "ai";
import {
  type AnswerEncoder,
  type AnswerEnd,
  filesOf,
  messageParts,
  outcomeOf,
} from "@colloquy/server/protocol";
import { toFilePart } from "./file-parts.ts";
import { sourceParts } from "./source-parts.ts";

/** The parts of an answer that a client already has. */
export interface KnownAnswer {
  readonly text: string;
  /** Ids of calls. */
  readonly calls: readonly string[];
  /** Ids of calls with an outcome. */
  readonly outcomes: readonly string[];
  /** Ids of actions: approvals, and those in data parts. */
  readonly approvals: readonly string[];
  readonly questions: readonly string[];
  /** Ids of calls that the client runs or decides. */
  readonly ownCalls: readonly string[];
  /** Ids of sources. */
  readonly sources: readonly string[];
}

const NOTHING: KnownAnswer = {
  sources: [],
  text: "",
  calls: [],
  outcomes: [],
  approvals: [],
  questions: [],
  ownCalls: [],
};
const FINISH_REASONS = { complete: "stop", interrupted: "interrupted", waiting: "tool-calls" } as const;

/** Produces the chunks of an answer, state by state. */
export class AnswerChunks implements AnswerEncoder<UIMessageChunk> {
  /** True if this stream continues a step of which the client already has parts. */
  readonly #continues: boolean;
  #isStarted = false;
  #text: string;
  /** Id of the open text part, or `null`. */
  #open: string | null = null;
  /** The reasoning that was sent of the latest step with any. */
  #reasoned = { step: 0, text: "" };
  /** Id of the open reasoning part, or `null`. */
  #openReasoning: string | null = null;
  #reasoningParts = 0;
  /** True if the stream began within the text of a step and has received no reasoning of that step. */
  #beganInText = false;
  /** The step whose reasoning is omitted, or 0. A part cannot be inserted before one that was sent. */
  #lateStep = 0;
  readonly #calls: Set<string>;
  readonly #outcomes: Set<string>;
  readonly #approvals: Set<string>;
  readonly #questions: Set<string>;
  readonly #ownCalls: Set<string>;
  readonly #sources: Set<string>;

  /** `known` are the client's parts of the answer; `null` for none. */
  constructor(known: KnownAnswer | null = null) {
    const { text, calls, outcomes, approvals, questions, ownCalls, sources } = known ?? NOTHING;
    this.#continues = known !== null;
    this.#text = text;
    this.#calls = new Set(calls);
    this.#outcomes = new Set(outcomes);
    this.#approvals = new Set(approvals);
    this.#questions = new Set(questions);
    this.#ownCalls = new Set(ownCalls);
    this.#sources = new Set(sources);
  }

  /** Length of the text that was sent. */
  get textLength(): number {
    return this.#text.length;
  }

  /**
   * Returns the chunks that are new in this state of the answer. Starts over with `reset-step` if the state
   * does not continue the previous one.
   */
  *next(message: Message, pending: readonly PendingAction[]): Iterable<UIMessageChunk> {
    const begins = !this.#isStarted;
    if (begins) {
      this.#isStarted = true;
      yield { type: "start", messageId: message.id };
      if (!this.#continues) yield { type: "start-step" };
    }
    if (this.#contradicts(message)) yield* this.#reset();
    let end = 0;
    const parts = messageParts(message);
    for (const part of parts) {
      if (part.kind === "call") {
        yield* this.#call(part.call);
        continue;
      }
      yield* this.#outcomesOf(message);
      end += part.text.length;
      yield* this.grow(message.content.slice(this.#text.length, end));
    }
    yield* this.#outcomesOf(message);
    for (const source of sourceParts(message)) if (this.#isNewSource(source.sourceId)) yield source;
    yield* this.#actionsOf(message, pending);
    if (begins) this.#beganInText = parts.at(-1)?.kind === "text";
  }

  /** Appends reasoning. A repeated call begins a new part, because a part cannot be replaced. */
  *reason({
    step,
    offset,
    text,
  }: Pick<ReasoningDelta, "step" | "offset" | "text">): Iterable<UIMessageChunk> {
    // A stream first receives the current step's whole reasoning, after the text of the snapshot.
    if (this.#beganInText) this.#lateStep = step;
    this.#beganInText = false;
    if (step === this.#lateStep) return;
    const known = this.#reasoned.step === step ? this.#reasoned.text : "";
    if (offset > known.length) return;
    const grown = known.slice(0, offset) + text;
    const continues = grown.startsWith(known);
    const delta = continues ? grown.slice(known.length) : grown;
    if (this.#reasoned.step !== step || !continues) yield* this.#closeParts();
    this.#reasoned = { step, text: grown };
    if (delta === "") return;
    if (this.#openReasoning === null) {
      yield* this.#closeParts();
      this.#openReasoning = `reasoning-${this.#reasoningParts++}`;
      yield { type: "reasoning-start", id: this.#openReasoning };
    }
    yield { type: "reasoning-delta", id: this.#openReasoning, delta };
  }

  /** Appends text to the answer. */
  *grow(delta: string): Iterable<UIMessageChunk> {
    if (delta === "") return;
    if (this.#open === null) {
      yield* this.#closeParts();
      // The id must be the same in every stream of the answer.
      this.#open = `text-${this.#text.length}`;
      yield { type: "text-start", id: this.#open };
    }
    yield { type: "text-delta", id: this.#open, delta };
    this.#text += delta;
  }

  *end(how: AnswerEnd): Iterable<UIMessageChunk> {
    yield* this.#closeParts();
    if (typeof how === "object") {
      yield { type: "error", errorText: how.failure };
      return;
    }
    if (how === "interrupted") yield { type: "abort" };
    else yield { type: "finish-step" };
    // The reason "interrupted" keeps the client from sending the message again.
    yield { type: "finish", finishReason: FINISH_REASONS[how] };
  }

  #contradicts({ content, tool_calls: calls = [] }: Message): boolean {
    return !content.startsWith(this.#text) || !this.#calls.isSubsetOf(new Set(calls.map(({ id }) => id)));
  }

  #isNewSource(id: string): boolean {
    const isNew = !this.#sources.has(id);
    this.#sources.add(id);
    return isNew;
  }

  *#reset(): Iterable<UIMessageChunk> {
    yield { type: "reset-step" };
    this.#beganInText = false;
    this.#lateStep = 0;
    this.#text = "";
    this.#open = null;
    this.#openReasoning = null;
    const sent = [
      this.#calls,
      this.#outcomes,
      this.#approvals,
      this.#questions,
      this.#ownCalls,
      this.#sources,
    ];
    for (const ids of sent) ids.clear();
  }

  *#call(call: ToolCall): Iterable<UIMessageChunk> {
    if (this.#calls.has(call.id)) return;
    this.#calls.add(call.id);
    this.#beganInText = false;
    yield* this.#closeParts();
    yield inputOf(call, "service");
  }

  *#outcomesOf(message: Message): Iterable<UIMessageChunk> {
    for (const call of message.tool_calls ?? []) {
      const { id: toolCallId } = call;
      if (!this.#calls.has(toolCallId) || this.#outcomes.has(toolCallId)) continue;
      const outcome = outcomeOf(call, message);
      if (outcome === null) continue;
      this.#outcomes.add(toolCallId);
      // Mark calls that the client ran as the service's, or their outputs would make the client send the message again.
      const common = { toolCallId, dynamic: true, providerExecuted: true };
      if (outcome.state === "output-available")
        yield { type: "tool-output-available", ...common, output: outcome.output };
      else yield { type: "tool-output-error", ...common, errorText: outcome.errorText };
      for (const file of filesOf(call, message)) {
        // Older releases of the AI SDK refuse a chunk with a name.
        const { filename: _, ...chunk } = toFilePart(file);
        yield chunk;
      }
    }
  }

  *#actionsOf(
    { tool_calls: calls = [] }: Message,
    pending: readonly PendingAction[],
  ): Iterable<UIMessageChunk> {
    for (const action of pending) {
      const call = calls.find(({ id }) => id === action.call_id);
      if (call === undefined || this.#approvals.has(action.id) || this.#questions.has(action.id)) continue;
      if (!mayUserDecide(action)) continue;

      if (action.kind === "approval") {
        this.#approvals.add(action.id);
        yield { type: "tool-approval-request", approvalId: action.id, toolCallId: call.id };
        continue;
      }
      // Repeat the input as a call that the client answers with `addToolOutput`. Send it only once, because
      // the call may run at most once.
      if (!this.#ownCalls.has(call.id)) yield inputOf(call, "client");
      this.#ownCalls.add(call.id);
      if (action.kind === "client_tool") continue;
      this.#questions.add(action.id);
      yield { type: "data-action", id: action.id, data: action };
    }
    for (const id of this.#questions) {
      if (pending.some((action) => action.id === id)) continue;
      this.#questions.delete(id);
      yield { type: "data-action", id, data: null };
    }
  }

  *#closeParts(): Iterable<UIMessageChunk> {
    if (this.#open !== null) yield { type: "text-end", id: this.#open };
    this.#open = null;
    if (this.#openReasoning !== null) yield { type: "reasoning-end", id: this.#openReasoning };
    this.#openReasoning = null;
  }
}

function inputOf(
  { id: toolCallId, name: toolName, arguments: input }: ToolCall,
  runsIn: "service" | "client",
): UIMessageChunk {
  const providerExecuted = runsIn === "service";
  return { type: "tool-input-available", toolCallId, toolName, input, dynamic: true, providerExecuted };
}
