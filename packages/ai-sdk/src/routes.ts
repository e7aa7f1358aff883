// The AI SDK's own client, unmodified: `useChat` with `DefaultChatTransport` (https://ai-sdk.dev). Stateless:
// the chat's id is the session's, and streams are derived from its events.

import type { PersistedMessage } from "@colloquy/protocol";
import {
  CHAT_ACCESS,
  defineProtocol,
  type FastifyReply,
  FollowedTurn,
  HEADERS,
  type HttpApp,
  KEPT_MAX_BYTES,
  parseConversation,
  type ProtocolContext,
  type ProtocolConversation,
  refusals,
  sendArray,
  type Start,
  startInProgress,
  startOfQueued,
  type StreamFollower,
  TurnStream,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { AnswerChunks, type KnownAnswer } from "./answer-chunks.ts";
import { answerCalls, sendText } from "./chat.ts";
import { storeFiles } from "./file-parts.ts";
import { ChatBody, ChatPath, readLastMessage, type SentAnswer, type SentText } from "./request.ts";
import { toUIMessage } from "./ui-message.ts";

const STREAM_FIELDS = { "x-vercel-ai-ui-message-stream": "v1" };
const DONE = "data: [DONE]\n\n";
const CHAT = "/api/ai-sdk/chat";
const STREAM = "/api/ai-sdk/chat/:id/stream";
const MESSAGES = "/api/ai-sdk/chat/:id/messages";
const TAGS = ["Conversation"];
const STREAM_ANSWER = {
  description:
    "The answer as a UI message stream of the AI SDK, version 1: each `data:` line holds one `UIMessageChunk`, the last one `[DONE]`",
  content: { "text/event-stream": { schema: z.looseObject({ type: z.string() }) } },
};

export const aiSdk = defineProtocol({
  name: "ai-sdk",
  version: "1.0.0",
  create: (_settings, context) => ({
    routes(app) {
      // Clients send the whole conversation.
      chatRoute(app, context, context.sessionBytes + KEPT_MAX_BYTES);
      streamRoute(app, context);
      messagesRoute(app, context);
    },
  }),
});

function chatRoute(app: HttpApp, context: ProtocolContext, bodyLimit: number): void {
  app.post(
    CHAT,
    {
      config: {
        access: CHAT_ACCESS,
        parseBody: (bytes) => parseConversation(bytes),
      },
      bodyLimit,
      schema: {
        operationId: "aiSdkChat",
        summary: "Send what useChat sends",
        description:
          "For `useChat` with `DefaultChatTransport`. The last message is one of the user, or an answer whose calls were approved, denied " +
          "or answered. A disconnect stops nothing; `POST /api/interrupt` does.",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        body: ChatBody,
        response: { 200: STREAM_ANSWER, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    async (request, reply) => {
      const last = readLastMessage(request.body);
      const { app: name, client_id: client } = request.body;
      const conversation = context.conversation(request, { app: name, client });
      if (last.kind === "text") await answerText(conversation, reply, request.body, last);
      else await continueAnswer(conversation, reply, last);
    },
  );
}

async function answerText(
  conversation: ProtocolConversation,
  reply: FastifyReply,
  body: ChatBody,
  last: SentText,
): Promise<void> {
  const { trigger, messageId, rig, public_key: publicKey, user_state: userState } = body;
  const options = { clientTools: body.client_tools };
  const chat = { rig: rig ?? null, publicKey: publicKey ?? null, userState: userState ?? null, options };
  await stream(conversation, reply, async () => {
    const attachments = await storeFiles(conversation, last);
    return follow(
      await sendText(conversation, { ...chat, attachments }, { ...last, trigger, messageId }),
      null,
    );
  });
}

async function continueAnswer(
  conversation: ProtocolConversation,
  reply: FastifyReply,
  last: SentAnswer,
): Promise<void> {
  await conversation.admitChange();
  await stream(conversation, reply, async () => follow(await answerCalls(conversation, last), last.known));
}

function streamRoute(app: HttpApp, context: ProtocolContext): void {
  app.get(
    STREAM,
    {
      config: { access: { session: "path", app: "session", scope: "read", streams: true } },
      exposeHeadRoute: false,
      schema: {
        operationId: "aiSdkStream",
        summary: "Replay the answer in progress",
        description: "From its start, for `useChat` with `resume`. Creates no session.",
        tags: TAGS,
        params: ChatPath,
        headers: z.object(HEADERS.sessionKey),
        response: {
          200: STREAM_ANSWER,
          204: z.undefined().meta({ description: "No answer is in progress, or there is no such session" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const conversation = context.conversation(request);
      const position = await conversation.position();
      if (position === null || !position.isProcessing) return reply.code(204).send();
      const start = startInProgress(position) ?? startOfQueued(position, null);
      await stream(conversation, reply, () => follow(start, null));
    },
  );
}

function messagesRoute(app: HttpApp, context: ProtocolContext): void {
  app.get(
    MESSAGES,
    {
      config: { access: { session: "path", app: "session", scope: "read", inTransaction: true } },
      schema: {
        operationId: "aiSdkMessages",
        summary: "Get the messages for useChat",
        description:
          "As `UIMessage`s, without an answer in progress, which `useChat` gets with `resume`. Empty for a session that does not exist.",
        tags: TAGS,
        params: ChatPath,
        headers: z.object(HEADERS.sessionKey),
        response: {
          200: z
            .array(z.object({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({})) }))
            .meta({ description: "Messages" }),
          ...refusals(401, 404, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const conversation = context.conversation(request);
      const position = await conversation.position();
      if (position === null) return await reply.send([]);
      const streaming = position.streaming?.messageId ?? null;
      return await sendArray(reply, messagesOf(conversation.messages(), streaming));
    },
  );
}

function stream(
  conversation: ProtocolConversation,
  reply: FastifyReply,
  begin: () => Promise<StreamFollower> | StreamFollower,
): Promise<void> {
  return conversation.stream(reply, begin, { headers: STREAM_FIELDS });
}

/** `known` are the client's parts of the answer. */
function follow(start: Start, known: KnownAnswer | null): StreamFollower {
  const turn = new FollowedTurn(start.state, new AnswerChunks(known));
  // A client that has a part of the answer may have its reasoning, too, and would add it again.
  return new TurnStream(turn, start, { includesReasoning: known === null, done: DONE });
}

async function* messagesOf(records: AsyncIterable<readonly PersistedMessage[]>, without: string | null) {
  for await (const portion of records) yield portion.filter(({ id }) => id !== without).map(toUIMessage);
}
