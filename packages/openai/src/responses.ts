// Routes of `/v1/responses` (https://www.openresponses.org/reference). A response is a turn, or the part of a turn
// that follows a client's answer to a call.

import { randomUUID } from "node:crypto";
import { ServiceError } from "@colloquy/engine";
import { CHAT_ACCESS, derivedId, type ProtocolConversation } from "@colloquy/server/protocol";
import type { FastifyRequest } from "@colloquy/server/protocol";
import { z } from "zod";
import { partOf, type PartRange } from "./answer-part.ts";
import { sessionOfAnswers } from "./answers.ts";
import {
  type PlacedTurn,
  prepareTurn,
  type Send,
  type Start,
  type StartedTurn,
} from "./conversation-turn.ts";
import { invalid, unsupported } from "./errors.ts";
import { ANY, checkFields, fields, only, someOf, WITHOUT_EFFECT } from "./fields.ts";
import { FollowedAnswer, readTurn, type TurnRead } from "./followed-answer.ts";
import { parseResponseId, type ResponseRef, responseId, sessionOfConversation, unknownId } from "./ids.ts";
import { sessionOfResponse } from "./ids.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { userItem } from "./output-items.ts";
import { readItems } from "./response-input.ts";
import { echoOf, NOTE, responseObject, statusOf, type StoredResponse } from "./response-object.ts";
import { streamOf } from "./response-stream.ts";
import {
  answers,
  type App,
  assertServed,
  type Body,
  bodyOf,
  ListQuery,
  optionalFlag,
  optionalText,
  pageOf,
  type Parts,
  readMetadata,
  sessionOrNull,
  TAGS,
  resolveTarget,
  withFiles,
} from "./route-parts.ts";
import { readFormat, readModel, readSampling, readToolChoice, readTools } from "./turn-options.ts";
import { readRequest, type Request } from "./transcript.ts";

const RULES = {
  ...WITHOUT_EFFECT,
  model: ANY,
  input: ANY,
  instructions: ANY,
  previous_response_id: ANY,
  conversation: ANY,
  stream: ANY,
  stream_options: fields({ include_obfuscation: ANY }),
  background: ANY,
  store: ANY,
  metadata: ANY,
  tools: ANY,
  tool_choice: ANY,
  temperature: ANY,
  top_p: ANY,
  max_output_tokens: ANY,
  text: fields({ format: ANY, verbosity: only("medium") }),
  reasoning: fields({ summary: ANY, generate_summary: ANY }),
  truncation: only("auto", "disabled"),
  // Accepted without effect: there is no encrypted content, and `logprobs` is always empty.
  include: someOf("reasoning.encrypted_content", "message.output_text.logprobs"),
};

const STREAM_HEADERS = { "cache-control": "no-cache" };
const ResponsePath = z.object({
  id: z.string().refine((id) => parseResponseId(id) !== null, "must be the id of a response (resp_…)"),
});
const RetrieveQuery = z.object({
  stream: z.enum(["true", "false"], 'must be "true" or "false"').optional(),
  starting_after: z
    .string()
    .regex(/^\d{1,16}$/, "must be a sequence_number")
    .optional(),
  include_obfuscation: z.unknown().optional(),
  include: z.unknown().optional(),
});

export function responseRoutes(app: App, parts: Parts): void {
  createResponse(app, parts);
  readResponse(app, parts);
  changeResponse(app, parts);
}

function createResponse(app: App, parts: Parts): void {
  app.post(
    "/v1/responses",
    {
      ...withFiles(parts, CHAT_ACCESS),
      preValidation: resolveTarget(parts, sessionOfCreate),
      schema: {
        operationId: "openaiCreateResponse",
        summary: "Create a response",
        description: "Sends a message or the outputs of calls, like OpenAI's Responses API.",
        tags: TAGS,
        body: bodyOf("Like OpenAI's `POST /v1/responses`", { model: "default", input: "what is 12 * 7?" }),
        response: answers("The response, or its events", { streams: true }),
      },
    },
    async (request, reply) => {
      const { sent, app: name } = request.body as Body;
      const create = readCreate(sent);
      assertServed(parts, optionalText(sent, "model") ?? name);
      const conversation = parts.context.conversation(request, { app: name });
      const key = idempotencyKeyOf(request.raw);
      const prepared = prepareTurnFor(sent, create, key);
      const start = (): Promise<StartedTurn> => startAfter(conversation, create, key, prepared);
      const app = name;
      if (create.streams) {
        return await conversation.stream(reply, async () => streamFor(await start(), app, null), {
          headers: STREAM_HEADERS,
        });
      }
      if (create.isBackground) return responseObject(storedOf(await start(), app));
      return await waitForResponse(conversation, start, app);
    },
  );
}

interface Create {
  readonly request: Request;
  readonly streams: boolean;
  readonly isBackground: boolean;
  /** False if the conversation is deleted when its turn has ended (`store: false`). */
  readonly isStored: boolean;
  /** True if the request has a `conversation` or `previous_response_id`. */
  readonly hasConversation: boolean;
  readonly previous: ResponseRef | null;
}

/** Parses the fields that need no conversation. Throws a `ServiceError` 400 with the name of the invalid field. */
function readCreate(body: JsonObject): Create {
  checkFields(body, RULES);
  readMetadata(body);
  const instructions = optionalText(body, "instructions");
  const read = readRequest(readItems(body["input"] ?? null, "input"), "input");
  const texts = [instructions, read.instructions].filter((text) => text !== null);
  const request = { ...read, instructions: texts.length === 0 ? null : texts.join("\n\n") };
  const previousId = optionalText(body, "previous_response_id");
  const previous = previousId === null ? null : parseResponseId(previousId);
  if (previousId !== null && previous === null) throw unknownId("response", previousId);
  const conversation = conversationIn(body);
  if (conversation !== null && previous !== null)
    throw unsupported("previous_response_id", "Send either previous_response_id or conversation.");
  if (conversation !== null && sessionOfConversation(conversation) === null)
    throw invalid("conversation", "must be the id of a conversation (conv_ and a UUID)");
  const hasConversation = conversation !== null || previous !== null;
  const isStored = (body["store"] ?? true) !== false;
  if (!isStored && hasConversation)
    throw unsupported("store", "Conversations are always stored. Omit store.");
  const isBackground = optionalFlag(body, "background");
  if (!isStored && isBackground) throw unsupported("background", "A background response needs store: true.");
  return {
    request,
    streams: optionalFlag(body, "stream"),
    isBackground,
    isStored,
    hasConversation,
    previous,
  };
}

function conversationIn({ conversation = null }: JsonObject): string | null {
  const id = isJsonObject(conversation) ? conversation["id"] : conversation;
  return typeof id === "string" ? id : null;
}

/** Returns the session id of a request that creates a response; `null` for a new session. */
function sessionOfCreate(body: JsonObject): string | null {
  const conversation = conversationIn(body);
  if (conversation !== null) return sessionOfConversation(conversation);
  const { previous_response_id: previous } = body;
  if (typeof previous === "string") return sessionOrNull(parseResponseId(previous)?.session);
  try {
    const { message, answers } = readRequest(readItems(body["input"] ?? null, "input"), "input");
    return message === null ? sessionOfAnswers(answers) : null;
  } catch {
    return null;
  }
}

/**
 * Starts the turn of a request, in a copy of the conversation if its previous response is not the last one.
 * Throws a `ServiceError` 404 if the previous response does not exist, or 409 if a new message cannot follow
 * it.
 */
async function startAfter(
  conversation: ProtocolConversation,
  { previous, request }: Create,
  key: string | null,
  start: Start,
): Promise<StartedTurn> {
  if (previous === null) return await start(conversation);
  const read = await readTurn(conversation, previous.turn);
  const range = read === null ? null : partOf(read.turn, previous.from);
  if (read === null || range === null) throw unknownId("response", responseId(previous));
  // The turn of the answered calls ends first, and the message follows it.
  const answersCalls =
    request.answers.length > 0 &&
    (read.turn.state === "waiting" || (key !== null && (await conversation.isRepeat(key))));
  if (request.message === null || answersCalls) return await start(conversation);
  if (read.turn.endedAt === null || range.to !== null)
    throw new ServiceError(
      409,
      "response_not_ended",
      "The previous response has not ended, or its calls have been answered since. Use the response after it.",
    );
  return await start(conversation, async (send) => {
    const placed = await sendIfLast(conversation, read, key, send);
    if (placed !== null) return placed;
    // A repeated request with the same key must use the same copy.
    const target = key === null ? randomUUID() : derivedId(`${responseId(previous)} ${key}`);
    const { conversation: copy, isNew } = await conversation.fork(target, read.turn.user.id);
    try {
      return await send(copy);
    } catch (error) {
      // Best effort: the caller needs the original error.
      if (isNew && (key === null || isFinal(error))) await copy.remove().catch(() => undefined);
      throw error;
    }
  });
}

/** Sends the message if the turn is the last one, or if the message is a repeat. Otherwise returns `null`. */
async function sendIfLast(
  conversation: ProtocolConversation,
  { snapshot: { messages }, turn: { number } }: TurnRead,
  key: string | null,
  send: Send,
): Promise<PlacedTurn | null> {
  const isLast = messages.every(({ turn = 0 }) => turn <= number);
  if (!isLast && (key === null || !(await conversation.isRepeat(key)))) return null;
  try {
    return await send(conversation, messages.findLast(({ turn }) => turn === number)?.id);
  } catch (error) {
    // A concurrent request has added a message.
    if (error instanceof ServiceError && error.code === "message_not_last") return null;
    throw error;
  }
}

/** Returns true if a repeat of the request would also be rejected, and therefore does not need the copy. */
function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && error.status < 500 && error.status !== 429;
}

/** Prepares the turn of a request. Throws a `ServiceError` 400 with the name of the invalid field. */
function prepareTurnFor(
  body: JsonObject,
  { request, isStored, hasConversation }: Create,
  key: string | null,
): Start {
  const { rig } = readModel(optionalText(body, "model") ?? "");
  const text = isJsonObject(body["text"]) ? body["text"] : {};
  const tools = readTools(body["tools"] ?? null, null);
  return prepareTurn(
    request,
    {
      rig,
      isTitled: isStored,
      // Keys are stored per conversation. A request without one creates a new conversation each time.
      idempotencyKey: hasConversation ? key : null,
      options: {
        clientTools: tools,
        toolChoice: readToolChoice(body["tool_choice"] ?? null, tools, null),
        responseSchema: readFormat(text["format"] ?? null, "text.format", null),
        sampling: readSampling(body, "max_output_tokens"),
        note: { [NOTE]: echoOf(body) },
      },
    },
    "input",
  );
}

/**
 * Returns the header `Idempotency-Key`; `null` if it is absent. Throws a `ServiceError` 400 unless it has 1 to 255
 * printable ASCII characters.
 */
function idempotencyKeyOf({ headers }: FastifyRequest["raw"]): string | null {
  const key = headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  const detail = "The header Idempotency-Key must be 1 to 255 printable ASCII characters, such as a UUID.";
  throw new ServiceError(400, "idempotency_key_invalid", detail);
}

function storedOf({ conversation, read, from }: StartedTurn, app: string): StoredResponse {
  const range = partOf(read.turn, from) ?? { from, to: null };
  const ref = { session: conversation.id, turn: read.turn.number, from };
  return { ref, range, turn: read.turn, app };
}

function streamFor(started: StartedTurn, app: string, startingAfter: number | null) {
  const { conversation } = started;
  const stored = storedOf(started, app);
  return streamOf({
    conversation,
    read: started.read,
    stored,
    startingAfter,
    onEnd: (ended) => deleteIfNotStored(conversation, ended),
  });
}

/** Waits until the response has ended, and returns it. */
async function waitForResponse(
  requested: ProtocolConversation,
  start: () => Promise<StartedTurn>,
  app: string,
): Promise<JsonObject> {
  let started: StartedTurn | null = null;
  await requested.follow(async () => {
    started = await start();
    const answer = new FollowedAnswer(started.read, { stopsForApprovals: true });
    const { range } = storedOf(started, app);
    return {
      conversationId: started.conversation.id,
      after: started.read.snapshot.last_event_id,
      encode: (event) => (answer.apply(event), ""),
      get isOver() {
        return answer.end !== null || range.to !== null;
      },
    };
  });
  const { conversation, from, read } = started as unknown as StartedTurn;
  const stored = await storedTurn(conversation, { turn: read.turn.number, from }, app);
  await deleteIfNotStored(conversation, stored);
  return responseObject(stored);
}

/** Reads a response. Throws a `ServiceError` 404 if it does not exist. */
async function storedTurn(
  conversation: ProtocolConversation,
  { turn, from }: Pick<ResponseRef, "turn" | "from">,
  app: string,
): Promise<StoredResponse> {
  const ref = { session: conversation.id, turn, from };
  const read = await readTurn(conversation, turn);
  const range: PartRange | null = read === null ? null : partOf(read.turn, from);
  if (read === null || range === null) throw unknownId("response", responseId(ref));
  return { ref, range, turn: read.turn, app };
}

/** Deletes the conversation of a request with `store: false` once its turn has ended. */
async function deleteIfNotStored(
  conversation: ProtocolConversation,
  { turn }: StoredResponse,
): Promise<void> {
  const note = turn.note[NOTE];
  if (turn.endedAt === null || !isJsonObject(note) || note["store"] !== false) return;
  await conversation.remove();
}

function readResponse(app: App, parts: Parts): void {
  const access = {
    session: "path",
    app: "session",
    scope: "read",
    sessionOf: sessionOfResponse,
  } as const;
  app.get(
    "/v1/responses/:id",
    {
      config: parts.served.accessOf({ ...access, streams: true }),
      exposeHeadRoute: false,
      schema: {
        operationId: "openaiGetResponse",
        summary: "Get a response, or its events",
        tags: TAGS,
        params: ResponsePath,
        querystring: RetrieveQuery,
        response: answers("The response, or its events", { streams: true }),
      },
    },
    async (request, reply) => {
      const { conversation, read, stored } = await servedResponse(parts, request);
      const { stream, starting_after: after } = request.query;
      if (stream !== "true") {
        if (after !== undefined) throw invalid("starting_after", "requires stream=true");
        return responseObject(stored);
      }
      const startingAfter = after === undefined ? null : Number(after);
      const started = { conversation, read, from: stored.ref.from };
      return await conversation.stream(reply, () => streamFor(started, stored.app, startingAfter), {
        headers: STREAM_HEADERS,
      });
    },
  );
  app.get(
    "/v1/responses/:id/input_items",
    {
      config: parts.served.accessOf(access),
      schema: {
        operationId: "openaiResponseInputItems",
        summary: "List the input items of a response",
        tags: TAGS,
        params: ResponsePath,
        querystring: ListQuery,
        response: answers("A list of items"),
      },
    },
    async (request) => {
      const { ref, turn } = (await servedResponse(parts, request)).stored;
      return pageOf(ref.from === 0 ? [userItem(turn.user, ref.session)] : [], request.query);
    },
  );
}

function changeResponse(app: App, parts: Parts): void {
  const access = {
    session: "path",
    app: "session",
    scope: "chat",
    sessionOf: sessionOfResponse,
  } as const;
  app.post(
    "/v1/responses/:id/cancel",
    {
      config: parts.served.accessOf(access),
      schema: {
        operationId: "openaiCancelResponse",
        summary: "Cancel a response",
        tags: TAGS,
        params: ResponsePath,
        response: answers("The response"),
      },
    },
    async (request) => {
      const { conversation, stored } = await servedResponse(parts, request);
      const status = statusOf(stored);
      if (status !== "queued" && status !== "in_progress") return responseObject(stored);
      await conversation.interrupt();
      return responseObject(await storedTurn(conversation, stored.ref, stored.app));
    },
  );
  app.delete(
    "/v1/responses/:id",
    {
      config: parts.served.accessOf(access),
      schema: {
        operationId: "openaiDeleteResponse",
        summary: "Delete the only response of a conversation",
        tags: TAGS,
        params: ResponsePath,
        response: answers("Confirmation"),
      },
    },
    async (request) => {
      const { conversation, read, stored } = await servedResponse(parts, request);
      const { ref } = stored;
      if (read.snapshot.messages.some(({ turn }) => turn !== ref.turn))
        throw new ServiceError(
          409,
          "response_in_conversation",
          "The conversation of this response has other messages. Delete the conversation instead.",
        );
      await conversation.remove();
      return { id: responseId(ref), object: "response", deleted: true };
    },
  );
}

/** Reads the response that a request names. @throws ServiceError 404 if there is none, or its App is not served */
async function servedResponse(parts: Parts, request: FastifyRequest) {
  const { id } = request.params as { readonly id: string };
  const ref = parseResponseId(id);
  if (ref === null) throw unknownId("response", id);
  const conversation = parts.context.conversation(request);
  const read = await readTurn(conversation, ref.turn);
  const range = read === null ? null : partOf(read.turn, ref.from);
  if (read === null || range === null) throw unknownId("response", responseId(ref));
  const { app } = read.snapshot;
  await parts.served.assertOf(conversation);
  const stored: StoredResponse = { ref, range, turn: read.turn, app };
  return { conversation, read, stored };
}
