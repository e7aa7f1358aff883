// The AI SDK's own client, unmodified: `useChat` with `DefaultChatTransport` (https://ai-sdk.dev). Stateless:
// the chat's id is the session's, and streams are derived from its events.

import { IncludeGroup, type PersistedMessage } from "@colloquy/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { OpenStream, ThreadService } from "../../core/ports/driving/services.ts";
import type { AppScope } from "../../core/key-scopes.ts";
import type { SessionAccess } from "../../core/session-access.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { actorOf } from "../../http/actors.ts";
import { needingAppKey } from "../../http/app-guard.ts";
import { sendStream } from "../../http/stream-response.ts";
import { type EventStream } from "../../http/event-stream.ts";
import { HEADERS, refusals } from "../../http/operation.ts";
import { abortOnDisconnect } from "../../http/request.ts";
import { sendArray } from "../../http/routes/send-array.ts";
import {
  withoutWriteBudget,
  type HttpApp,
  type ProtocolRoutes,
  type RouteParts,
} from "../../http/routes/route-parts.ts";
import { AnswerChunks, type KnownAnswer } from "./answer-chunks.ts";
import { AnswerStream, STREAM_FIELDS } from "./answer-stream.ts";
import { answerCalls, EXISTING, sendText } from "./chat.ts";
import { KEPT_MAX_BYTES, parseConversation } from "./conversation-body.ts";
import { FollowedTurn } from "./followed-turn.ts";
import { ChatBody, ChatPath, readLastMessage, type SentAnswer, type SentText } from "./request.ts";
import { type Start, startInProgress, startOfQueued } from "./turn-state.ts";
import { toUIMessage } from "./ui-message.ts";

const CHAT = "/api/ai-sdk/chat";
const STREAM = "/api/ai-sdk/chat/:id/stream";
const MESSAGES = "/api/ai-sdk/chat/:id/messages";
const PAGE = 1000;
const ALL = new Set(IncludeGroup.options);
const TAGS = ["Conversation"];
const STREAM_ANSWER = {
  description:
    "The answer as a UI message stream of the AI SDK, version 1: each `data:` line holds one `UIMessageChunk`, the last one `[DONE]`",
  content: { "text/event-stream": { schema: z.looseObject({ type: z.string() }) } },
};

/** `sessionBytes` is the limit of a session's messages. */
export function aiSdkRoutes({ sessionBytes }: { readonly sessionBytes: number }): ProtocolRoutes {
  return (app, parts) => {
    // Clients send the whole conversation.
    chatRoute(app, parts, sessionBytes + KEPT_MAX_BYTES);
    streamRoute(app, parts);
    messagesRoute(app, parts);
  };
}

function chatRoute(app: HttpApp, parts: RouteParts, bodyLimit: number): void {
  const { guard } = parts;
  const hooks = withoutWriteBudget(needingAppKey(guard.queryOrBodyHooks("chat")));
  app.post(
    CHAT,
    {
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
      ...hooks,
      config: { ...hooks.config, parseBody: parseConversation },
    },
    async (request, reply) => {
      const last = readLastMessage(request.body);
      if (last.kind === "text") await answerText(parts, request, reply, request.body, last);
      else await continueAnswer(parts, request, reply, request.body, last);
    },
  );
}

async function answerText(
  parts: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  body: ChatBody,
  last: SentText,
): Promise<void> {
  const { guard, admission, services } = parts;
  const { id: spelling, trigger, messageId } = body;
  const sessionId = spelling.toLowerCase();
  const app = body.app ?? DEFAULT_APP;
  const { clientId, access } = guard.authorizeCaller(request, app, body.client_id ?? null);
  const options = { clientTools: body.client_tools };
  await admission.chat(request, { app, clientId, sessionId }, null, { message: last.text, options });
  const chat = {
    sessionId,
    access,
    app,
    rig: body.rig ?? null,
    publicKey: body.public_key ?? null,
    userState: body.user_state ?? null,
    clientId,
    options,
    waitMs: 0,
    signal: abortOnDisconnect(reply.raw, 0),
  };
  const creation = admission.newSession(request, { clientId, spelling });
  await sendStream(parts, exchangeOf(request, reply, CHAT, sessionId), async (out) => {
    const start = await sendText(services, chat, { ...last, trigger, messageId }, creation);
    return await follow(parts, { request, sessionId, scope: "chat" }, start, null, out);
  });
}

async function continueAnswer(
  parts: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  body: ChatBody,
  last: SentAnswer,
): Promise<void> {
  const { guard, admission, services } = parts;
  const sessionId = body.id.toLowerCase();
  await admission.change(request, sessionId)?.();
  await sendStream(parts, exchangeOf(request, reply, CHAT, sessionId), async (out) => {
    const start = await guard.runAuthorized(request, sessionId, async (allowed) => {
      const by = await actorOf(request, services.audit);
      const caller = { app: request.sessionApp, clientId: null, sessionId };
      const admit = async (answer: unknown) => await admission.written(request, caller, answer);
      return await answerCalls(services, { sessionId, access: allowed, by, admit }, last);
    });
    return await follow(parts, { request, sessionId, scope: "chat" }, start, last.known, out);
  });
}

function streamRoute(app: HttpApp, parts: RouteParts): void {
  const { guard, services } = parts;
  app.get(
    STREAM,
    {
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
      ...guard.pathStreamHooks("read"),
    },
    async (request, reply) => {
      const sessionId = request.params.id.toLowerCase();
      guard.authorizeFoundSession(request);
      const position = await services.conversations.position(sessionId, guard.sessionAccess(request));
      if (position === null || !position.isProcessing) return reply.code(204).send();
      const start = startInProgress(position) ?? startOfQueued(position, null);
      await sendStream(parts, exchangeOf(request, reply, STREAM, sessionId), (out) =>
        follow(parts, { request, sessionId, scope: "read" }, start, null, out),
      );
    },
  );
}

function messagesRoute(app: HttpApp, { guard, services }: RouteParts): void {
  app.get(
    MESSAGES,
    {
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
            .meta({ description: "The messages" }),
          ...refusals(401, 404, 429, 503),
        },
      },
      ...guard.pathCommandHooks("read"),
    },
    async (request, reply) => {
      const sessionId = request.params.id.toLowerCase();
      return await guard.runAuthorized(request, sessionId, async (allowed) => {
        const position = await services.conversations.position(sessionId, allowed);
        if (position === null) return await reply.send([]);
        const streaming = position.streaming?.messageId ?? null;
        const records = recordsOf(services.threads, sessionId, allowed);
        return await sendArray(reply, messagesOf(records, streaming));
      });
    },
  );
}

/** Subscribes to the session, unless the turn is over. `known` are the client's parts of the answer. */
async function follow(
  { services, guard }: RouteParts,
  { request, sessionId, scope }: { request: FastifyRequest; sessionId: string; scope: AppScope },
  { state, lastEventId }: Start,
  known: KnownAnswer | null,
  out: EventStream,
): Promise<OpenStream> {
  const sink = new AnswerStream(new FollowedTurn(state, new AnswerChunks(known)), out);
  if (!sink.begin(state)) return { close: () => undefined };
  const wanted = { sessionId, access: guard.streamAccess(request, scope), include: ALL, lastEventId };
  return await services.updates.open(wanted, sink, EXISTING);
}

function exchangeOf(request: FastifyRequest, reply: FastifyReply, route: string, sessionId: string) {
  return { request, reply, route, sessionId, waitMs: 0, fields: STREAM_FIELDS };
}

async function* recordsOf(
  threads: ThreadService,
  sessionId: string,
  access: SessionAccess,
): AsyncIterable<readonly PersistedMessage[]> {
  for (let after: string | null = null, isLast = false; !isLast; ) {
    const page = await threads.messages(sessionId, after, PAGE, access);
    for (let records = await page.read(null); records.length > 0; records = await page.read(after)) {
      yield records;
      after = records.at(-1)?.id ?? null;
    }
    isLast = page.next === null;
  }
}

async function* messagesOf(records: AsyncIterable<readonly PersistedMessage[]>, without: string | null) {
  for await (const portion of records) yield portion.filter(({ id }) => id !== without).map(toUIMessage);
}
