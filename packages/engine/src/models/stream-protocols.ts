// Rules per protocol for streamed responses: which chunks to skip, where the response ends, and errors within
// the stream.

import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { ChatChunks } from "./chat-chunks.ts";

export type ProtocolName = "chat" | "responses" | "anthropic" | "google";

/** A chunk and its effect on the response. */
export interface ReadChunk {
  /** The chunk for the provider package; `null` to skip it. */
  readonly chunk: JsonObject | null;
  /** True if the chunk contains content, not only usage or the start of a part. */
  readonly hasContent: boolean;
  /**
   * `counted`: the usage, which follows the content, has arrived without a finish reason. `finished`: only
   * usage may follow. `ended`: nothing follows.
   */
  readonly progress: "open" | "counted" | "finished" | "ended";
}

/** Reads the chunks of one response. */
export interface ChunkReader {
  read(chunk: JsonObject): ReadChunk;
  /**
   * Returns the chunks that complete a response whose server omitted the end that the protocol requires.
   *
   * @param isFinished true if a finish reason has arrived
   */
  ending(isFinished: boolean): readonly JsonObject[];
}

/** How to parse a non-streaming response. `not`: it is not a response of this protocol. */
export type WholeAnswer = "as a chunk" | "by the package" | "not";

interface StreamProtocol {
  readonly reader: () => ChunkReader;
  readonly whole: (answer: JsonObject) => WholeAnswer;
}

export const STREAM_PROTOCOLS: Readonly<Record<ProtocolName, StreamProtocol>> = {
  chat: {
    reader: chatReader,
    whole: ({ choices }) => (Array.isArray(choices) && choices.length > 0 ? "as a chunk" : "not"),
  },
  responses: {
    reader: responsesReader,
    whole: ({ object, output }) =>
      object === "response" && Array.isArray(output) ? "by the package" : "not",
  },
  anthropic: {
    reader: anthropicReader,
    whole: ({ type, content }) => (type === "message" && Array.isArray(content) ? "by the package" : "not"),
  },
  google: {
    reader: googleReader,
    whole: ({ candidates, promptFeedback }) =>
      Array.isArray(candidates) || isJsonObject(promptFeedback) ? "as a chunk" : "not",
  },
};

const SKIPPED: ReadChunk = { chunk: null, hasContent: false, progress: "open" };

function chatReader(): ChunkReader {
  const chunks = new ChatChunks();
  let isFinished = false;
  return {
    read: (sent) => {
      const chunk = chunks.normalize(sent);
      if (chunk === null) return SKIPPED;
      const [choice] = chunk["choices"] as JsonObject[];
      const delta = isJsonObject(choice?.["delta"]) ? choice["delta"] : {};
      isFinished ||= typeof choice?.["finish_reason"] === "string";
      // OpenAI's last chunk has the usage and no choices.
      const isUsage = choice === undefined && chunk["usage"] !== undefined;
      const hasContent = Object.keys(delta).length > 0;
      if (isFinished) return { chunk, hasContent, progress: isUsage ? "ended" : "finished" };
      return { chunk, hasContent, progress: isUsage ? "counted" : "open" };
    },
    ending: (finished) =>
      finished ? [] : [{ choices: [{ index: 0, delta: {}, finish_reason: chunks.impliedFinishReason }] }],
  };
}

function responsesReader(): ChunkReader {
  return {
    read: (chunk) => {
      const type = textOf(chunk["type"]);
      if (type === "" || type === "ping" || type === "keepalive") return SKIPPED;
      const isEnd = /^response\.(?:completed|incomplete|failed)$/.test(type);
      return { chunk, hasContent: type.endsWith(".delta"), progress: isEnd ? "ended" : "open" };
    },
    ending: () => [
      { type: "response.completed", response: { usage: { input_tokens: 0, output_tokens: 0 } } },
    ],
  };
}

/** Event types that the provider package accepts. */
const ANTHROPIC_EVENTS: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

const ANTHROPIC_FINISH: JsonObject = {
  type: "message_delta",
  delta: { stop_reason: "end_turn" },
  usage: { output_tokens: 0 },
};

function anthropicReader(): ChunkReader {
  return {
    read: (sent) => {
      const type = textOf(sent["type"]);
      if (!ANTHROPIC_EVENTS.has(type)) return SKIPPED;
      const chunk = withAnthropicUsage(sent);
      const delta = isJsonObject(sent["delta"]) ? sent["delta"] : {};
      const isFinished = type === "message_delta" && typeof delta["stop_reason"] === "string";
      return {
        chunk,
        hasContent: type === "content_block_delta",
        progress: type === "message_stop" ? "ended" : isFinished ? "finished" : "open",
      };
    },
    ending: (finished) => [...(finished ? [] : [ANTHROPIC_FINISH]), { type: "message_stop" }],
  };
}

/** Adds the usage, which the package requires and some gateways omit. */
function withAnthropicUsage(chunk: JsonObject): JsonObject {
  const { type, message, usage } = chunk;
  if (type === "message_start") {
    const sent = isJsonObject(message) ? message : {};
    const counted = isJsonObject(sent["usage"]) ? sent["usage"] : {};
    if (typeof counted["input_tokens"] === "number") return chunk;
    return { ...chunk, message: { ...sent, usage: { ...counted, input_tokens: 0 } } };
  }
  if (type !== "message_delta") return chunk;
  const counted = isJsonObject(usage) ? usage : {};
  if (typeof counted["output_tokens"] === "number") return chunk;
  return { ...chunk, usage: { ...counted, output_tokens: 0 } };
}

function googleReader(): ChunkReader {
  let isFinished = false;
  return {
    read: (chunk) => {
      const { candidates, usageMetadata, promptFeedback } = chunk;
      const all = Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
      if (all.length === 0 && !isJsonObject(usageMetadata) && !isJsonObject(promptFeedback)) return SKIPPED;
      const [candidate = {}] = all;
      const reason = textOf(candidate["finishReason"]);
      const blocked = isJsonObject(promptFeedback) ? textOf(promptFeedback["blockReason"]) : "";
      isFinished ||= reason !== "" || blocked !== "";
      const { content } = candidate;
      const hasContent =
        isJsonObject(content) && Array.isArray(content["parts"]) && content["parts"].length > 0;
      return { chunk, hasContent, progress: isFinished ? "finished" : "open" };
    },
    ending: (finished) =>
      finished ? [] : [{ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] }],
  };
}

/** Finish reasons that report an aborted response. */
const ABORTED =
  /^(?:error\w*|failed|abort(?:ed)?|network_error|engine_error|insufficient_system_resource|function_call_filter\b.*|malformed_(?:function_call|response)|unexpected_tool_call|too_many_tool_calls)$/i;

/** Fields that occur only in successful responses. */
const ANSWER_FIELDS = ["choices", "candidates", "output", "content", "usageMetadata", "delta"];

/**
 * Returns the error that a chunk or a non-streaming response reports; `null` if there is none.
 *
 * @param event name of the server-sent event
 */
export function reportedError(value: JsonObject, event: string | null): JsonValue | null {
  const { error, type, object, response, choices, candidates, base_resp: minimax } = value;
  if (isError(error)) return error;
  if (type === "error" || object === "error" || event === "error") return value;
  if (type === "response.failed") {
    return isJsonObject(response) && isError(response["error"]) ? response["error"] : value;
  }
  const [choice] = Array.isArray(choices) ? choices.filter(isJsonObject) : [];
  if (choice !== undefined && isError(choice["error"])) return choice["error"];
  const [candidate] = Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
  const reason = choice?.["finish_reason"] ?? candidate?.["finishReason"];
  if (ABORTED.test(textOf(reason))) return { finish_reason: reason ?? null };
  if (isJsonObject(minimax) && (minimax["status_code"] ?? 0) !== 0) return minimax;
  if (ANSWER_FIELDS.some((name) => (value[name] ?? null) !== null)) return null;
  if (typeof type === "string") return null;
  const { message, msg, detail, errors, code } = value;
  const hasErrorText = [message, msg, detail].some((text) => textOf(text) !== "" || Array.isArray(text));
  const hasErrors = Array.isArray(errors) && errors.length > 0;
  return hasErrorText || hasErrors || (typeof code === "number" && code >= 400) ? value : null;
}

function isError(error: JsonValue | undefined): error is JsonValue {
  if (typeof error === "string") return error.trim() !== "";
  return isJsonObject(error) ? Object.keys(error).length > 0 : Array.isArray(error) && error.length > 0;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
