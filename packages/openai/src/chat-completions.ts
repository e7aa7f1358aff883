// `POST /v1/chat/completions`. A request without a conversation creates one, and deletes it after the answer unless
// `store` is true.

import type { UpdateEvent } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import {
  CHAT_ACCESS,
  DEFAULT_APP,
  type ProtocolConversation,
  type ProtocolTurn,
  type StreamFollower,
} from "@colloquy/server/protocol";
import type { FastifyRequest } from "@colloquy/server/protocol";
import { sessionOfAnswers } from "./answers.ts";
import { readMessages } from "./chat-input.ts";
import { prepareTurn, type StartedTurn } from "./conversation-turn.ts";
import { invalid, unsupported } from "./errors.ts";
import { ANY, checkFields, fields, only, WITHOUT_EFFECT } from "./fields.ts";
import { FollowedAnswer, readTurn } from "./followed-answer.ts";
import { actionRefId, conversationId, sessionOfConversation } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { NOTE } from "./response-object.ts";
import {
  answers,
  type App,
  assertServed,
  type Body,
  bodyOf,
  CONVERSATION_HEADER,
  optionalFlag,
  optionalText,
  type Parts,
  readMetadata,
  TAGS,
  resolveTarget,
  withFiles,
} from "./route-parts.ts";
import { readFormat, readModel, readSampling, readToolChoice, readTools } from "./turn-options.ts";
import { readRequest, type Request } from "./transcript.ts";

const RULES = {
  ...WITHOUT_EFFECT,
  model: ANY,
  messages: ANY,
  stream: ANY,
  stream_options: fields({ include_usage: ANY, include_obfuscation: ANY }),
  store: ANY,
  metadata: ANY,
  tools: ANY,
  tool_choice: ANY,
  response_format: ANY,
  temperature: ANY,
  top_p: ANY,
  max_tokens: ANY,
  max_completion_tokens: ANY,
  n: only(1),
  logprobs: only(false),
  modalities: (value: JsonValue) => JSON.stringify(value) === '["text"]',
};

/** Field of `metadata` with the id of the conversation. */
const METADATA = "conversation_id";

export function chatCompletionRoute(app: App, parts: Parts): void {
  app.post(
    "/v1/chat/completions",
    {
      ...withFiles(parts, CHAT_ACCESS),
      preValidation: resolveTarget(parts, sessionOfChat),
      schema: {
        operationId: "openaiChatCompletion",
        summary: "Complete a chat",
        description:
          "Like OpenAI's Chat Completions API. `metadata.conversation_id` or the header `X-Conversation-Id` continues a " +
          "conversation: its stored messages replace those that the request sends before the last one.",
        tags: TAGS,
        body: bodyOf("Like OpenAI's `POST /v1/chat/completions`", {
          model: "default",
          messages: [{ role: "user", content: "what is 12 * 7?" }],
        }),
        response: answers("The completion, or its chunks", { streams: true }),
      },
    },
    async (request, reply) => {
      const { sent, app: name } = request.body as Body;
      checkFields(sent, RULES);
      const chat = readChat(sent, request);
      assertServed(parts, chat.model);
      const conversation = parts.context.conversation(request, { app: name });
      const start = (): Promise<StartedTurn> => startTurnFor(conversation, chat, sent);
      if (!chat.streams) return await completionOf(conversation, start, chat);
      const includesUsage =
        isJsonObject(sent["stream_options"]) && sent["stream_options"]["include_usage"] === true;
      const options = { conversation, chat, includesUsage };
      return await conversation.stream(reply, async () => new ChunkStream(await start(), options), {
        headers: { "cache-control": "no-cache" },
      });
    },
  );
}

interface Chat {
  readonly request: Request;
  readonly model: string;
  readonly streams: boolean;
  /** True if the conversation is deleted after its answer. */
  readonly isStateless: boolean;
}

/** Parses a request. Throws a `ServiceError` 400 with the name of the invalid field. */
function readChat(body: JsonObject, request: FastifyRequest): Chat {
  readMetadata(body);
  const named = conversationOf(body, request);
  if (named !== null && sessionOfConversation(named) === null)
    throw invalid(`metadata.${METADATA}`, "must be the id of a conversation (conv_ and a UUID)");
  if (named !== null && body["store"] === false)
    throw unsupported("store", "Conversations are always stored. Omit store.");
  return {
    request: readRequest(readMessages(body["messages"] ?? null), "messages"),
    model: optionalText(body, "model") ?? DEFAULT_APP,
    streams: optionalFlag(body, "stream"),
    isStateless: named === null && !optionalFlag(body, "store"),
  };
}

function conversationOf({ metadata = null }: JsonObject, { raw }: FastifyRequest): string | null {
  const named = isJsonObject(metadata) ? metadata[METADATA] : null;
  const header = raw.headers[CONVERSATION_HEADER];
  return typeof named === "string" ? named : typeof header === "string" ? header : null;
}

/** Returns the session id of a request; `null` for a new session. */
function sessionOfChat(body: JsonObject, request: FastifyRequest): string | null {
  const named = conversationOf(body, request);
  if (named !== null) return sessionOfConversation(named);
  try {
    const { message, answers } = readRequest(readMessages(body["messages"] ?? null), "messages");
    return message === null ? sessionOfAnswers(answers) : null;
  } catch {
    return null;
  }
}

async function startTurnFor(
  conversation: ProtocolConversation,
  { request, model, isStateless }: Chat,
  body: JsonObject,
): Promise<StartedTurn> {
  const { rig } = readModel(model);
  const tools = readTools(body["tools"] ?? null, "function");
  const options = {
    clientTools: tools,
    toolChoice: readToolChoice(body["tool_choice"] ?? null, tools, "function"),
    responseSchema: readFormat(body["response_format"] ?? null, "response_format", "json_schema"),
    sampling: readSampling(body, "max_completion_tokens", "max_tokens"),
    note: { [NOTE]: { store: !isStateless } },
  };
  return await prepareTurn(request, { rig, isTitled: !isStateless, options }, "messages")(conversation);
}

/** The part of an answer in one completion. Pending approvals do not end it: people decide them elsewhere. */
class Completion {
  readonly followed: FollowedAnswer;
  readonly #start: number;
  readonly #started: StartedTurn;

  constructor(started: StartedTurn) {
    this.#started = started;
    this.followed = new FollowedAnswer(started.read, { stopsForApprovals: false });
    const { answer } = started.read.turn;
    this.#start = started.from === 0 ? 0 : (answer?.tool_calls?.[started.from - 1]?.text_offset ?? 0);
  }

  /** The text so far. */
  get text(): string {
    const { content = "" } = this.followed.state.answer ?? {};
    const text = content.slice(this.#start);
    // The service separates the texts of steps with an empty line.
    return this.#start === 0 ? text : text.replace(/^\n+/, "");
  }

  /** Calls that the client must answer. */
  calls(session: string): JsonObject[] {
    if (this.followed.end !== "waiting") return [];
    return this.followed.clientActions.map((action) => {
      const call = this.followed.state.answer?.tool_calls?.find(({ id }) => id === action.call_id);
      return {
        id: actionRefId("call", { session, action: action.id }),
        type: "function",
        function: { name: action.tool, arguments: JSON.stringify(call?.arguments ?? {}) },
      };
    });
  }

  /** `turn` is the ended turn. */
  finishReason(turn: ProtocolTurn): string {
    if (this.followed.end === "waiting") return "tool_calls";
    return turn.isCut ? "length" : "stop";
  }

  get frame(): JsonObject {
    const { turn } = this.#started.read;
    return {
      id: `chatcmpl-${turn.user.id}${this.#started.from === 0 ? "" : `-${this.#started.from}`}`,
      created: Math.floor(turn.acceptedAt / 1000),
    };
  }

  get turn(): number {
    return this.#started.read.turn.number;
  }
}

async function completionOf(
  conversation: ProtocolConversation,
  start: () => Promise<StartedTurn>,
  chat: Chat,
): Promise<JsonObject> {
  let latest: Completion | null = null;
  await conversation.follow(async () => {
    const started = await start();
    const completion = new Completion(started);
    latest = completion;
    return {
      after: started.read.snapshot.last_event_id,
      encode: (event) => (completion.followed.apply(event), ""),
      get isOver() {
        return completion.followed.end !== null;
      },
    };
  });
  const completion = latest as unknown as Completion;
  const turn = await endedTurn(conversation, completion);
  const calls = completion.calls(conversation.id);
  const { text } = completion;
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...completion.frame,
    object: "chat.completion",
    model: chat.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: completion.finishReason(turn) }],
    usage: usageOf(turn),
    ...metadataOf(conversation, chat),
  };
}

/**
 * Returns the ended turn, and deletes a conversation that is not stored. Throws a `ServiceError` 404 if the
 * conversation was deleted, 500 if the turn failed, 409 if it was stopped.
 */
async function endedTurn(
  conversation: ProtocolConversation,
  { turn, followed }: Completion,
): Promise<ProtocolTurn> {
  const read = followed.end === "gone" ? null : await readTurn(conversation, turn);
  if (read === null)
    throw new ServiceError(
      404,
      "session_deleted",
      "The conversation was deleted before the answer was complete.",
    );
  await deleteIfNotStored(conversation, read.turn);
  if (followed.end === "failed") {
    const { failure, reason } = read.turn;
    const detail = reason ?? "The assistant could not finish this answer. Send the message again.";
    throw new ServiceError(500, failure ?? "turn_failed", detail);
  }
  if (followed.end === "interrupted")
    throw new ServiceError(409, "interrupted", "The answer was stopped. Send the message again.");
  return read.turn;
}

async function deleteIfNotStored(
  conversation: ProtocolConversation,
  { endedAt, note }: ProtocolTurn,
): Promise<void> {
  const request = note[NOTE];
  if (endedAt !== null && isJsonObject(request) && request["store"] === false) await conversation.remove();
}

function usageOf({ usage }: ProtocolTurn): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/** Returns the `metadata` of an answer: the id of its conversation, if that is stored. */
function metadataOf({ id }: ProtocolConversation, { isStateless }: Chat): JsonObject {
  return isStateless ? {} : { metadata: { [METADATA]: conversationId(id) } };
}

interface ChunkOptions {
  readonly conversation: ProtocolConversation;
  readonly chat: Chat;
  readonly includesUsage: boolean;
}

class ChunkStream implements StreamFollower {
  readonly after: string;
  readonly #completion: Completion;
  readonly #options: ChunkOptions;
  #sent = "";
  #isRerun = false;

  constructor(started: StartedTurn, options: ChunkOptions) {
    this.#completion = new Completion(started);
    this.#options = options;
    this.after = started.read.snapshot.last_event_id;
  }

  get isOver(): boolean {
    return this.#isRerun || this.#completion.followed.end !== null;
  }

  begin(): string {
    return this.#chunk({ role: "assistant", content: "" }, null) + this.#advance();
  }

  encode(event: UpdateEvent): string {
    if (this.isOver) return "";
    this.#completion.followed.apply(event);
    return this.#advance();
  }

  async finish(): Promise<string> {
    const { conversation, includesUsage } = this.#options;
    let turn: ProtocolTurn;
    try {
      if (this.#isRerun) throw rerun();
      turn = await endedTurn(conversation, this.#completion);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { detail: message, code, status } = error;
      const type = status >= 500 ? "server_error" : "conflict_error";
      return `data: ${JSON.stringify({ error: { message, type, param: null, code } })}\n\n`;
    }
    const calls = this.#completion
      .calls(conversation.id)
      .map((call, index) => this.#chunk({ tool_calls: [{ index, ...call }] }, null))
      .join("");
    const usage = includesUsage ? this.#line({ choices: [], usage: usageOf(turn) }) : "";
    return `${calls}${this.#chunk({}, this.#completion.finishReason(turn))}${usage}data: [DONE]\n\n`;
  }

  #advance(): string {
    const { text, followed } = this.#completion;
    // The step runs again after a crash. Wait until its text reaches the sent length, unless the answer has ended.
    const isShorter = text.length < this.#sent.length && this.#sent.startsWith(text);
    if (isShorter && followed.end === null) return "";
    if (!text.startsWith(this.#sent)) {
      this.#isRerun = true;
      return "";
    }
    const delta = text.slice(this.#sent.length);
    this.#sent = text;
    return delta === "" ? "" : this.#chunk({ content: delta }, null);
  }

  #chunk(delta: JsonObject, finishReason: string | null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    return this.#line({ choices, ...(this.#options.includesUsage && { usage: null }) });
  }

  #line(fields: JsonObject): string {
    const { chat } = this.#options;
    const common = { object: "chat.completion.chunk", model: chat.model };
    return `data: ${JSON.stringify({ ...this.#completion.frame, ...common, ...fields })}\n\n`;
  }
}

function rerun(): ServiceError {
  const detail =
    "After a crash, a step of this answer was run again and its text differs. Send the request again.";
  return new ServiceError(409, "step_rerun", detail);
}
