import type {
  Message,
  MessageStatus,
  PersistedMessage,
  Reasoning,
  Source,
  ToolCall,
  ToolResult,
} from "@colloquy/protocol";
import type { JsonObject, JsonValue } from "./json.ts";
import type { ToolEffect, ToolOutcome } from "./ports/driven/tool.ts";

/**
 * Phase of a call without a result: `asked` waits for a person; `approved` (by a person) and `allowed` (by
 * policy) wait for a slot; `started` is the stored intent, after which the call may have taken effect. Only
 * `unsafe` calls record it, because the others can run again.
 */
export type ToolCallPhase = "started" | "asked" | "approved" | "allowed";

/**
 * A stored call. `effect`, `step`, `phase` and `input` serve recovery and replay, and are never sent over the
 * wire.
 */
export interface ToolCallRecord extends ToolCall {
  /** Phase of the call; absent for a call that starts with its step. */
  readonly phase?: ToolCallPhase;
  readonly effect: ToolEffect;
  /** Number of the model step that made the call. */
  readonly step: number;
  /** The input of the policy decision, as parsed by the tool's schema; absent if it equals the arguments. */
  readonly input?: JsonValue;
}

/** A call of a step to be stored. */
export interface StepCall extends ToolCallRecord {
  /** Result of a call that is refused and never runs. */
  readonly refusal?: ToolOutcome;
}

/** A stored result. `told` is never sent over the wire. */
export interface ToolResultRecord extends ToolResult {
  /** The output that the model gets; absent if it equals `output`. */
  readonly told?: JsonValue;
}

/** Fields of an answer besides its text and calls, as on the wire. */
export interface AnswerExtras {
  readonly data?: JsonObject;
  readonly sources?: Source[];
  /** Absent if no step has reasoning to show. */
  readonly has_reasoning?: true;
}

export interface MessageRecord {
  /** Counts from 1 in the session, in the order of arrival. */
  readonly position: number;
  readonly id: string;
  readonly turn: number;
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
  readonly status: MessageStatus;
  readonly toolCalls: readonly ToolCallRecord[];
  readonly toolResults: readonly ToolResultRecord[];
  /** Absent for none. */
  readonly extras?: AnswerExtras;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** Returns a message in the form of snapshots and events (contract section 2). */
export function toWireMessage(message: MessageRecord): Message {
  return {
    sender: message.role === "user" ? "user" : "agent",
    content: message.content,
    id: message.id,
    created_at: new Date(message.createdAt).toISOString(),
    status: message.status,
    turn: message.turn,
    ...(message.toolCalls.length > 0 && { tool_calls: message.toolCalls.map(toWireCall) }),
    ...(message.toolResults.length > 0 && { tool_results: message.toolResults.map(toWireResult) }),
    ...message.extras,
  };
}

/** Returns the UTF-8 bytes of a message as JSON on the wire. */
export function wireBytesOf(message: MessageRecord): number {
  return Buffer.byteLength(JSON.stringify(toWireMessage(message)));
}

const UNCHANGED: ToolResult = { call_id: "", name: "", output: null, is_error: false, duration_ms: 0 };

/**
 * Returns the UTF-8 bytes by which a message grows on the wire. Does not serialize results and content that
 * both versions share, because they are large.
 */
export function wireGrowth(before: MessageRecord, after: MessageRecord): number {
  const shared = new Set(before.toolResults).intersection(new Set(after.toolResults));
  const bytesOf = (message: MessageRecord): number =>
    wireBytesOf({
      ...message,
      content: before.content === after.content ? "" : message.content,
      toolResults: message.toolResults.map((result) => (shared.has(result) ? UNCHANGED : result)),
    });
  return bytesOf(after) - bytesOf(before);
}

/** A message and its zero-based position in the session, if it is known. */
export interface PlacedMessage {
  readonly message: Message;
  readonly index?: number | undefined;
}

/** Returns true for an answer without text and calls, which snapshots omit (contract section 2). */
export function isHidden({ sender, status, content, tool_calls: calls }: Message): boolean {
  return sender === "agent" && status === "streaming" && content === "" && calls === undefined;
}

/**
 * Returns a message in the form of `GET /api/sessions/{id}/messages` (interface specification, "Persisted
 * message record").
 */
export function toPersistedMessage(
  sessionId: string,
  message: MessageRecord,
  reasoning: readonly (Reasoning & { readonly turn: number })[] = [],
): PersistedMessage {
  const own = message.role === "user" ? [] : reasoning.filter(({ turn }) => turn === message.turn);
  return {
    id: message.id,
    session_id: sessionId,
    thread_id: sessionId,
    role: message.role,
    content: message.content,
    tool_calls: message.toolCalls.length > 0 ? message.toolCalls.map(toWireCall) : null,
    tool_results: message.toolResults.length > 0 ? message.toolResults.map(toWireResult) : null,
    created_at: new Date(message.createdAt).toISOString(),
    turn: message.turn,
    ...message.extras,
    ...(own.length > 0 && { reasoning: own.map(({ text, step }) => ({ text, step })) }),
  };
}

/** Returns the calls of a message without a result. */
export function openCalls(message: MessageRecord): readonly ToolCallRecord[] {
  const answered = new Set(message.toolResults.map((result) => result.call_id));
  return message.toolCalls.filter((call) => !answered.has(call.id));
}

/** Returns true if a call without a result must not run again, because it may have had side effects. */
export function isUncertain({ effect, phase }: ToolCallRecord): boolean {
  return effect === "unsafe" && (phase === undefined || phase === "started");
}

/** Returns true if a call may run and waits for a slot. */
export function hasNotBegun({ phase }: ToolCallRecord): boolean {
  return phase === "allowed" || phase === "approved";
}

/** Returns true if the start of a call must be durable before it runs, so that it runs at most once. */
export function needsIntent(call: ToolCallRecord): boolean {
  return call.effect === "unsafe" && hasNotBegun(call);
}

/** Returns true if a call of the message waits for a person. */
export function waitsForPerson(message: MessageRecord): boolean {
  return openCalls(message).some(({ phase }) => phase === "asked");
}

/** Appends a step's text to a message, after a blank line. */
export function joinStepText(before: string, text: string): string {
  return before === "" || text === "" ? before + text : `${before}\n\n${text}`;
}

export function toWireResult({ told: _, ...result }: ToolResultRecord): ToolResult {
  return result;
}

function toWireCall(call: ToolCallRecord): ToolCall {
  const { id, name, status, text_offset: offset } = call;
  return {
    id,
    name,
    arguments: call.arguments,
    status,
    ...(offset !== undefined && { text_offset: offset }),
  };
}

/** Maximum bytes of all outputs of an answer, more than most models accept. */
const MAX_OUTPUT_BYTES = 1_024 * 1_024;
/** Maximum size of outputs that are always kept, such as a number or an error. */
const SHORT_OUTPUT_BYTES = 256;

/** Tracks the remaining bytes for an answer's outputs. */
export class OutputBudget {
  #bytes: number;

  constructor({ toolResults }: Pick<MessageRecord, "toolResults">) {
    this.#bytes = toolResults.reduce((sum, { output, told = output }) => sum + byteLength(told), 0);
  }

  /** Returns the output if it fits into the rest of the budget, else a sentence for the model that names its size. */
  fit(output: JsonValue): JsonValue {
    const bytes = byteLength(output);
    const fits = bytes <= SHORT_OUTPUT_BYTES || this.#bytes + bytes <= MAX_OUTPUT_BYTES;
    const kept = fits
      ? output
      : `[Left out: the call was made, and its output had ${bytes} bytes. All outputs of one answer may have ${MAX_OUTPUT_BYTES} together. Answer with what there is.]`;
    this.#bytes += byteLength(kept);
    return kept;
  }
}

function byteLength(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}
