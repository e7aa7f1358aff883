// Routes of `/v1/agent/chat`: start a turn, poll and stream events, interrupt a turn, and send the result of an action.

import { randomUUID } from "node:crypto";
import { SessionId } from "@colloquy/protocol";
import {
  AppName,
  CHAT_ACCESS,
  CHAT_BODY_MAX_BYTES,
  ClientId,
  DEFAULT_APP,
  type FastifyRequest,
  HEADERS,
  type HttpApp,
  InvalidRequest,
  isJsonObject,
  NotFound,
  optional,
  type ParsedJson,
  parseJsonBytes,
  readMessage,
  ServiceError,
  throwAfterCommit,
  UserStateField,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { pageAfter, walletActionIn } from "./events.ts";
import { EventStream, NextEvent } from "./followers.ts";
import { parseCursor, parseTurnId, sequenceAt, sequenceOf } from "./positions.ts";
import { answers, type Parts, served, SessionPath, TAGS } from "./route-parts.ts";
import { View } from "./view.ts";
import { PENDING, readResult } from "./wallet-actions.ts";
import type { EventPage } from "./wire.ts";

/** Maximum milliseconds that a poll waits. */
const WAIT_MAX = 30_000;

const Cursor = z.string().meta({ description: "The cursor of the last page; from the beginning if absent" });
const Turn = z
  .object({
    sessionId: SessionId.meta({
      description: "A new UUID begins a conversation; chosen by the service if absent",
    }),
    message: z.string("must be a string"),
    app: optional(AppName.nullable()),
    mode: z
      .enum(["auto", "direct"], 'must be "auto" or "direct"')
      .nullish()
      .meta({ description: "Has no effect" }),
    applicationId: z.null("is not supported. Name the App in `app`").optional(),
    model: optional(z.string("must be a string").nullable()).meta({
      description: "Model as `provider/model`",
    }),
    userState: UserStateField.nullish(),
    clientId: optional(ClientId.nullable()),
    cursor: optional(Cursor.nullable()).meta({
      description: "Limits the page to later events. One of a deleted conversation is ignored",
    }),
  })
  .meta({ example: { sessionId: "2c9e4d7a-6b15-4f0e-8d3a-51b7c2a90e64", message: "what is 12 * 7?" } });

const PollQuery = z.object({
  cursor: optional(Cursor),
  wait: optional(
    z
      .string()
      .regex(/^\d{1,5}$/, `must be an integer from 0 to ${WAIT_MAX}`)
      .meta({
        description: "Milliseconds to wait for an event",
        type: "integer",
        minimum: 0,
        maximum: WAIT_MAX,
      }),
  ),
});
const ActionPath = SessionPath.extend({ action: z.string().toLowerCase() });
const Result = z
  .object({
    revision: z.int("must be an integer"),
    result: z
      .unknown()
      .refine(isJsonObject, "must be an object")
      .meta({ type: "object", additionalProperties: true }),
  })
  .meta({ example: { revision: PENDING, result: { status: "rejected", reason: "Not now" } } });

export function chatRoutes(app: HttpApp, parts: Parts): void {
  start(app, parts);
  poll(app, parts);
  stream(app, parts);
  interrupt(app, parts);
  respond(app, parts);
}

function start(app: HttpApp, parts: Parts): void {
  app.post(
    "/v1/agent/chat",
    {
      config: {
        ...parts.served.accessOf({ ...CHAT_ACCESS, bodyField: "sessionId" }),
        parseBody: withSession,
      },
      bodyLimit: CHAT_BODY_MAX_BYTES,
      schema: {
        operationId: "agentStartTurn",
        summary: "Send a message to an agent",
        description:
          "409 `busy` while a turn is in progress. With an `Idempotency-Key`, which requires a `sessionId`, a repeat is not answered again.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.appKey, ...HEADERS.idempotencyKey }),
        body: Turn,
        response: answers("A page of events"),
      },
    },
    async (request) => {
      const { message, app: named, model, userState, clientId, cursor } = request.body;
      parts.served.assert(named ?? DEFAULT_APP);
      const text = readMessage(message);
      const idempotencyKey = keyOf(request);
      const place = parseCursor(cursor);
      const conversation = parts.context.conversation(request, { app: named, client: clientId });
      await parts.served.assertOf(conversation);
      await conversation.send({
        text,
        rig: model ?? null,
        userState: userState ?? null,
        idempotencyKey,
        busy: "reject",
      });
      const view = await View.read(conversation).catch(throwAfterCommit);
      return pageAfter(view, place?.incarnation === view.incarnation ? place.n : 0);
    },
  );
}

/** Parses a body, and adds a session id if it has none. */
function withSession(bytes: Buffer, { raw }: FastifyRequest): ParsedJson {
  const parsed = parseJsonBytes(bytes);
  if (!parsed.ok || !isJsonObject(parsed.value) || (parsed.value["sessionId"] ?? null) !== null)
    return parsed;
  if (raw.headers["idempotency-key"] !== undefined)
    throw new InvalidRequest(
      "session_id_missing",
      "An Idempotency-Key belongs to a session. Send a sessionId with it, for example from crypto.randomUUID().",
    );
  return { ...parsed, value: { ...parsed.value, sessionId: randomUUID() } };
}

function keyOf({ raw }: FastifyRequest): string | null {
  const key = raw.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new InvalidRequest(
    "idempotency_key_invalid",
    "The header Idempotency-Key must be sent once and be 1 to 255 printable ASCII characters, for example a UUID.",
  );
}

function poll(app: HttpApp, parts: Parts): void {
  app.get(
    "/v1/agent/chat/:id",
    {
      config: parts.served.accessOf({ session: "path", app: "session", scope: "read" }),
      schema: {
        operationId: "agentPollEvents",
        summary: "Read events of a conversation",
        tags: TAGS,
        headers: z.object(HEADERS.sessionKey),
        params: SessionPath,
        querystring: PollQuery,
        response: answers("A page of events"),
      },
    },
    async (request): Promise<EventPage> => {
      const { cursor, wait = "0" } = request.query;
      const conversation = await served(parts, request);
      const place = parseCursor(cursor);
      const view = await View.read(conversation);
      const after = sequenceAt(view.incarnation, place);
      const page = pageAfter(view, after);
      const ms = Math.min(Number(wait), WAIT_MAX);
      if (page.events.length > 0 || ms === 0) return page;
      const next = new NextEvent(view, after);
      const signal = AbortSignal.timeout(ms);
      await conversation
        .follow(() => next, { signal })
        .catch((error: unknown) => {
          // The conversation may be gone: reading it shows that.
          if (!(error instanceof ServiceError) || error.code !== "answer_cut_off") throw error;
          next.isCurrent = false;
        });
      const now = next.isCurrent ? view : await View.read(conversation);
      return pageAfter(now, sequenceAt(now.incarnation, place));
    },
  );
}

function stream(app: HttpApp, parts: Parts): void {
  app.get(
    "/v1/agent/chat/:id/stream",
    {
      exposeHeadRoute: false,
      config: parts.served.accessOf({ session: "path", app: "session", scope: "read", streams: true }),
      schema: {
        operationId: "agentStreamEvents",
        summary: "Stream events and text of a conversation",
        description:
          "Server-sent events: `page` has a page of events, `message` the text of the answer in progress, and after `resync` the conversation must be read again.",
        tags: TAGS,
        headers: z.object(HEADERS.sessionKey),
        params: SessionPath,
        querystring: z.object({ cursor: optional(Cursor) }),
        response: answers("Pages of events", "text/event-stream"),
      },
    },
    async (request, reply) => {
      const { cursor } = request.query;
      const conversation = parts.context.conversation(request);
      await conversation.stream(reply, async () => {
        await parts.served.assertOf(conversation);
        const place = parseCursor(cursor);
        const view = await View.read(conversation);
        return new EventStream(view, sequenceAt(view.incarnation, place));
      });
    },
  );
}

function interrupt(app: HttpApp, parts: Parts): void {
  app.post(
    "/v1/agent/chat/:id/interrupt",
    {
      config: parts.served.accessOf({ session: "path", app: "session", scope: "chat" }),
      schema: {
        operationId: "agentInterruptTurn",
        summary: "Stop a turn",
        description: "Stops all queued turns too. Changes nothing if the turn has ended.",
        tags: TAGS,
        headers: z.object(HEADERS.sessionKey),
        params: SessionPath,
        body: z
          .object({ turnId: z.string("must be a string") })
          .meta({ example: { turnId: "turn-1h8x9k2m3n4p-1" } }),
        response: answers("The events of the turn"),
      },
    },
    async (request) => {
      const conversation = await served(parts, request);
      const { incarnation, snapshot } = await View.read(conversation);
      const turn = parseTurnId(incarnation, request.body.turnId);
      if (turn === null || snapshot.messages.every((message) => message.turn !== turn))
        throw new NotFound("turn_not_found", "The conversation has no turn with this id.");
      const { messages } = await conversation.interrupt(turn);
      if (messages.some((message) => message.turn === turn && message.status === "queued"))
        throw new ServiceError(
          409,
          "turn_queued",
          "The turn waits for the one in progress. Interrupt that one, which stops all queued ones too.",
        );
      return pageAfter(await View.read(conversation).catch(throwAfterCommit), sequenceOf(turn, 0, 0) - 1);
    },
  );
}

function respond(app: HttpApp, parts: Parts): void {
  app.post(
    "/v1/agent/chat/:id/actions/:action/result",
    {
      config: parts.served.accessOf({
        session: "path",
        app: "session",
        scope: "chat",
        needsKey: true,
        counted: "caller",
      }),
      schema: {
        operationId: "agentRespondToAction",
        summary: "Send the result of a wallet request",
        description: "Repeating a result has no effect.",
        tags: TAGS,
        headers: z.object(HEADERS.sessionKey),
        params: ActionPath,
        body: Result,
        response: answers("The next revision of the action"),
      },
    },
    async (request) => {
      const { action: id } = request.params;
      const { revision, result } = request.body;
      const conversation = await served(parts, request);
      const found = walletActionIn(await View.read(conversation), id);
      if (found === null) throw unknownAction();
      const { action, eventOf } = found;
      if (revision !== PENDING) throw otherRevision(revision);
      const {
        status,
        result: stored,
        resolved_at,
      } = await conversation.decide(id, readResult(action, result));
      return { action: eventOf({ ...action, status, result: stored, resolved_at }) };
    },
  );
}

function unknownAction(): NotFound {
  return new NotFound("action_not_found", "The conversation has no wallet request with this id.");
}

function otherRevision(revision: number): ServiceError {
  return new ServiceError(
    409,
    "action_revision_conflict",
    `The action has no revision ${revision} that waits for a result. Read its events again.`,
  );
}
