import type { Message, MessageStatus, PersistedMessage, ToolCall, ToolResult } from "@colloquy/protocol";
import type { JsonValue } from "./json.ts";
import type { ToolEffect, ToolOutcome } from "./ports/driven/tool.ts";

/**
 * How far a call without a result has come: `asked` waits for a person, `approved` is one that a person has allowed, `allowed` one that
 * asked nobody; both may begin as soon as there is a place for them. `started` is the stored intent: from there on the call may have had
 * its effect. It is noted of `unsafe` calls alone: the others run again in any case, and what a person is told of them is the same.
 */
export type ToolCallPhase = "started" | "asked" | "approved" | "allowed";

/** A call as it is kept; `effect`, `step`, `phase` and `input` are for recovery and replay and do not go over the wire. */
export interface ToolCallRecord extends ToolCall {
  /** Absent for a call that asked nobody and found a place at once: it starts with its step. */
  readonly phase?: ToolCallPhase;
  readonly effect: ToolEffect;
  /** The model step that made the call; the first step of a turn is 1. */
  readonly step: number;
  /** The input after the tool's schema, on which the policy decision was made; absent if it equals the arguments. */
  readonly input?: JsonValue;
}

/** A call of a step that is to be stored. */
export interface StepCall extends ToolCallRecord {
  /** Why it is never made: it is stored with this result. Absent for one that runs, or asks a person. */
  readonly refusal?: ToolOutcome;
}

export interface MessageRecord {
  /** Position in the session, in the order of arrival; the first message has 1. */
  readonly position: number;
  readonly id: string;
  /** Number of the turn it belongs to. */
  readonly turn: number;
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
  readonly status: MessageStatus;
  readonly toolCalls: readonly ToolCallRecord[];
  readonly toolResults: readonly ToolResult[];
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** A message as snapshots and events show it (contract section 2). */
export function toWireMessage(message: MessageRecord): Message {
  return {
    sender: message.role === "user" ? "user" : "agent",
    content: message.content,
    id: message.id,
    created_at: new Date(message.createdAt).toISOString(),
    status: message.status,
    turn: message.turn,
    ...(message.toolCalls.length > 0 && { tool_calls: message.toolCalls.map(toWireCall) }),
    ...(message.toolResults.length > 0 && { tool_results: [...message.toolResults] }),
  };
}

/** UTF-8 bytes of a message as JSON on the wire. */
export function wireBytesOf(message: MessageRecord): number {
  return Buffer.byteLength(JSON.stringify(toWireMessage(message)));
}

const UNCHANGED: ToolResult = { call_id: "", name: "", output: null, is_error: false, duration_ms: 0 };

/** UTF-8 bytes that a message grows by on the wire. Results and content that both versions share are large, and not serialized. */
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

/** A message and how many stand before it in its session, as far as that is known. */
export interface PlacedMessage {
  readonly message: Message;
  readonly index?: number | undefined;
}

/** Whether snapshots leave the message out: an answer that has not said or done anything yet (contract section 2). */
export function isHidden({ sender, status, content, tool_calls: calls }: Message): boolean {
  return sender === "agent" && status === "streaming" && content === "" && calls === undefined;
}

/** A message as `GET /api/sessions/{id}/messages` shows it (interface specification, "Persisted message record"). */
export function toPersistedMessage(sessionId: string, message: MessageRecord): PersistedMessage {
  return {
    id: message.id,
    session_id: sessionId,
    thread_id: sessionId,
    role: message.role,
    content: message.content,
    tool_calls: message.toolCalls.length > 0 ? message.toolCalls.map(toWireCall) : null,
    tool_results: message.toolResults.length > 0 ? [...message.toolResults] : null,
    created_at: new Date(message.createdAt).toISOString(),
    turn: message.turn,
  };
}

/** The calls of a message that have no result yet. */
export function openCalls(message: MessageRecord): readonly ToolCallRecord[] {
  const answered = new Set(message.toolResults.map((result) => result.call_id));
  return message.toolCalls.filter((call) => !answered.has(call.id));
}

/** Whether a call without a result must not run again: it has side effects, and may have had them. */
export function isUncertain({ effect, phase }: ToolCallRecord): boolean {
  return effect === "unsafe" && (phase === undefined || phase === "started");
}

/** Whether a call may run and waits for its place. */
export function hasNotBegun({ phase }: ToolCallRecord): boolean {
  return phase === "allowed" || phase === "approved";
}

/** Whether it has to be on disk that a call starts before it does, so that it runs at most once. */
export function needsIntent(call: ToolCallRecord): boolean {
  return call.effect === "unsafe" && hasNotBegun(call);
}

/** Whether a call of the message waits for a person. */
export function waitsForPerson(message: MessageRecord): boolean {
  return openCalls(message).some(({ phase }) => phase === "asked");
}

/** The text of a message whose turn took another step: steps stand apart by a blank line. */
export function joinStepText(before: string, text: string): string {
  return before === "" || text === "" ? before + text : `${before}\n\n${text}`;
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
