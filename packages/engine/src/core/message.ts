import type {
  Attachment,
  Feedback,
  Message,
  PersistedMessage,
  Reasoning,
  Source,
  Steering,
  Summary,
  ToolCall,
  ToolResult,
} from "@colloquy/protocol";
import { bigint, type Fields, optionalJson, pair, type RecordOf, text } from "./field.ts";
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

/** Fields that few messages have, as on the wire. */
export interface MessageExtras {
  /** Absent for none. */
  readonly attachments?: readonly Attachment[];
  readonly data?: JsonObject;
  readonly sources?: Source[];
  /** Absent if no step has reasoning to show. */
  readonly has_reasoning?: true;
  /** State of a steering message. */
  readonly steering?: Steering;
  /**
   * First step of an agent message, and its last if another one follows; absent for the only agent message of
   * a turn.
   */
  readonly steps?: { readonly from: number; readonly to?: number };
}

/** Feedback on an answer. */
export interface FeedbackRecord {
  readonly score: -1 | 0 | 1;
  /** `null` for none. */
  readonly comment: string | null;
  readonly tags: readonly string[];
  /** Time of the last change, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/** A summary of the conversation through the turn of a message. Clients never receive its text. */
export interface SummaryRecord {
  readonly text: string;
  /** Estimated tokens that it replaced in prompts: the previous summary and the turns since then. */
  readonly tokensBefore: number;
  /** Estimated tokens of the summary in prompts. */
  readonly tokensAfter: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Returns the beginning of the stored JSON of feedback with this score. */
export function feedbackStart(score: number): string {
  return `{"score":${score},`;
}

const LIST = { empty: [], isEmpty: ({ length }: { readonly length: number }) => length === 0 };

/** The fields of a message. Times are milliseconds since the Unix epoch. */
export const MESSAGE_FIELDS = {
  /** Counts from 1 in the session, in the order of arrival. */
  position: bigint("position", ({ position }) => position, { fixed: true }),
  id: text("id", ({ z }) => z.uuid(), { fixed: true }),
  /** Changes once for a steering message: from its own turn to the turn that reads it. */
  turn: bigint("turn", ({ position }) => position),
  role: text("role", ({ z }) => z.enum(["user", "assistant", "system"]), { fixed: true }),
  content: text("content", ({ z }) => z.string()),
  status: text("status", ({ protocol }) => protocol.MessageStatus),
  toolCalls: optionalJson(
    "tool_calls",
    ({ z, protocol, position }) =>
      z
        .array(
          protocol.ToolCall.extend({
            effect: z.enum(["read", "idempotent", "unsafe"]),
            step: position,
            phase: z.enum(["started", "asked", "approved", "allowed"]).optional(),
            input: z.json().optional(),
          }),
        )
        .nullable(),
    {
      read: (stored) => stored as readonly ToolCallRecord[],
      ...LIST,
    },
  ),
  toolResults: optionalJson(
    "tool_results",
    ({ z, protocol }) => z.array(protocol.ToolResult.extend({ told: protocol.Json.optional() })).nullable(),
    { read: (stored) => stored as readonly ToolResultRecord[], ...LIST },
  ),
  extras: optionalJson(
    "extras",
    ({ z, protocol }) => z.strictObject(protocol.MESSAGE_EXTRAS).nullable().default(null),
    {
      read: (stored): MessageExtras | undefined => stored as MessageExtras,
      empty: undefined,
      isEmpty: (extras) => extras === undefined,
    },
    { optional: true },
  ),
  feedback: {
    ...pair(
      [
        "feedback",
        "text",
        ({ z }) => z.string().nullable().default(null),
        // Lists select a score by the beginning of the text (`feedbackStart`).
        (feedback: FeedbackRecord | undefined) =>
          feedback === undefined
            ? null
            : JSON.stringify({ score: feedback.score, comment: feedback.comment, tags: feedback.tags }),
      ],
      [
        "feedback_at",
        "bigint",
        ({ time }) => time.nullable().default(null),
        (feedback) => feedback?.at ?? null,
      ],
      (stored, at): FeedbackRecord | undefined =>
        stored === null || at === null
          ? undefined
          : { ...(JSON.parse(stored) as Omit<FeedbackRecord, "at">), at },
    ),
    optional: true,
  },
  /**
   * Stored on the last agent message of an ended turn, which follows everything that the summary covers.
   * Edits, forks, deletions and exports of the message therefore include the summary.
   */
  summary: optionalJson(
    "summary",
    ({ z, count, time }) =>
      z
        .strictObject({ text: z.string(), tokensBefore: count, tokensAfter: count, at: time })
        .nullable()
        .default(null),
    {
      read: (stored): SummaryRecord | undefined => stored as SummaryRecord,
      empty: undefined,
      isEmpty: (summary) => summary === undefined,
    },
    { optional: true },
  ),
  createdAt: bigint("created_at", ({ time }) => time, { fixed: true }),
} as const satisfies Fields;

export type MessageRecord = RecordOf<typeof MESSAGE_FIELDS>;

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
    ...toWireExtras(message),
    ...(message.feedback !== undefined && { feedback: toWireFeedback(message.feedback) }),
    ...(message.summary !== undefined && { summary: toWireSummary(message.summary) }),
  };
}

function toWireExtras({ extras = {} }: Pick<MessageRecord, "extras">) {
  const { attachments, ...answer } = extras;
  return { ...(attachments !== undefined && { attachments: [...attachments] }), ...answer };
}

export function toWireFeedback({ score, comment, tags, at }: FeedbackRecord): Feedback {
  return {
    score,
    ...(comment !== null && { comment }),
    ...(tags.length > 0 && { tags: [...tags] }),
    created_at: new Date(at).toISOString(),
  };
}

function toWireSummary({ tokensBefore, tokensAfter, at }: SummaryRecord): Summary {
  return {
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    created_at: new Date(at).toISOString(),
  };
}

/** Returns the files of a message, and of the results of its calls. */
export function filesOf({
  extras,
  toolResults,
}: Pick<MessageRecord, "extras" | "toolResults">): readonly Attachment[] {
  return [...(extras?.attachments ?? []), ...toolResults.flatMap(({ attachments = [] }) => attachments)];
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
  const { from = 1, to = Infinity } = message.extras?.steps ?? {};
  const own =
    message.role === "user"
      ? []
      : reasoning.filter(({ turn, step }) => turn === message.turn && step >= from && step <= to);
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
    ...toWireExtras(message),
    ...(message.feedback !== undefined && { feedback: toWireFeedback(message.feedback) }),
    ...(message.summary !== undefined && { summary: toWireSummary(message.summary) }),
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

/** Returns the number of the first step of an agent message in its turn. */
export function firstStepOf({ extras }: MessageRecord): number {
  return extras?.steps?.from ?? 1;
}

/** Returns true if a steering message waits to be read by the turn in progress. */
export function isSteering({ status, extras }: MessageRecord): boolean {
  return status === "queued" && extras?.steering?.status === "pending";
}

/** Returns the message with changed extras; `undefined` removes one. */
export function changeExtras(
  message: MessageRecord,
  changes: { readonly [Name in keyof MessageExtras]: MessageExtras[Name] | undefined },
): MessageRecord {
  const { extras: before, ...rest } = message;
  const extras = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== undefined);
  return extras.length === 0 ? rest : { ...rest, extras: Object.fromEntries(extras) };
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
  const { id, name, title, status, text_offset: offset, decision } = call;
  return {
    id,
    name,
    ...(title !== undefined && { title }),
    arguments: call.arguments,
    status,
    ...(offset !== undefined && { text_offset: offset }),
    ...(decision !== undefined && { decision }),
  };
}

/** Maximum bytes of all outputs of an answer, more than most models accept. */
const MAX_OUTPUT_BYTES = 1_024 * 1_024;
/** Maximum size of outputs that are always kept, such as a number or an error. */
const SHORT_OUTPUT_BYTES = 256;
/** Maximum files of tools in an answer, and their bytes. */
export const ANSWER_FILES = 100;
export const ANSWER_FILE_BYTES = 100 * 1_024 * 1_024;

/** Tracks the remaining bytes and files of an answer's outputs. */
export class OutputBudget {
  #bytes: number;
  #files: number;
  #fileBytes: number;

  constructor({ toolResults }: Pick<MessageRecord, "toolResults">) {
    this.#bytes = toolResults.reduce((sum, { output, told = output }) => sum + byteLength(told), 0);
    const files = toolResults.flatMap(({ attachments = [] }) => attachments);
    this.#files = files.length;
    this.#fileBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Reserves a file of this size. Returns false if it exceeds the limits of the answer. */
  takeFile(bytes: number): boolean {
    if (this.#files >= ANSWER_FILES || this.#fileBytes + bytes > ANSWER_FILE_BYTES) return false;
    this.#files += 1;
    this.#fileBytes += bytes;
    return true;
  }

  /** Gives back a file that was taken and not kept. */
  giveBackFile(bytes: number): void {
    this.#files -= 1;
    this.#fileBytes -= bytes;
  }

  /** Returns the output if it fits into the remaining budget; otherwise a note for the model with its size. */
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
