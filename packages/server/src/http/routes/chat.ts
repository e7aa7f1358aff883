// Sends a message, or interrupts the assistant. Before a handler runs, `access/gate.ts` counts the request
// and checks its credentials. The response is a snapshot. Events leave on the streams that `updates.ts`
// opens: the session registry (commits) and the turn's journal (text) publish them to the hub, and
// bus/feed.ts writes them.

import { ATTACHMENTS_MAX } from "@colloquy/protocol";
import { z } from "zod";
import { InvalidRequest, throwAfterCommit } from "@colloquy/engine/internal/core/errors";
import { ClientToolsField, ResponseSchemaField } from "@colloquy/engine/internal/core/requested-options";
import { readMessage } from "@colloquy/engine/internal/core/message-text";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { Snapshot } from "../documented.ts";
import { idempotencyKey, preferredWait, textHeader, abortOnDisconnect } from "../request.ts";
import {
  AppName,
  ClientId,
  HEADERS,
  optional,
  PublicKey,
  rangeOf,
  refusals,
  SNAPSHOT_QUERY,
  SnapshotMessages,
  UserStateField,
  UserStateText,
} from "../operation.ts";
import { CHAT_BODY_MAX_BYTES } from "../problem.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const ROUTE = "/api/chat";

const MessageText = z.string("must be a string").meta({
  description:
    "The user's message, 1 to 32,768 characters, not all of them white space. Required, here or in the body, unless there are attachments.",
  examples: ["what is 12 * 7?"],
});

const Replaced = z.uuid("must be the id of a message").meta({
  description:
    "Id of a user's message of the session. This message replaces it; everything after it is removed, and what runs or waits is interrupted",
});
const Rig = z.string("must be a string").meta({
  description: "Model of the App that answers this message and the next ones; the session's when absent",
});

const Attachments = z
  .array(z.uuid("must be the ids of files").toLowerCase(), "must be an array of the ids of files")
  .max(ATTACHMENTS_MAX, `must be at most ${ATTACHMENTS_MAX} files`)
  .refine((ids) => new Set(ids).size === ids.length, "must name each file once")
  .meta({ description: "Ids of files of this session, in the order of the message" });

const Busy = z.enum(["steer", "enqueue"], 'must be "steer" or "enqueue"').meta({
  description:
    "While the assistant works: the turn in progress reads this message before its next model call (`steer`), or the message waits for a turn of its own (`enqueue`). The App's `onBusy` when absent, and always if that is `reject`",
});

const ChatQuery = z.object({
  message: MessageText.optional(),
  app: optional(AppName),
  public_key: optional(PublicKey),
  user_state: optional(UserStateText),
  client_id: optional(ClientId),
  replaces: optional(Replaced),
  rig: optional(Rig),
  busy: optional(Busy),
  ...SNAPSHOT_QUERY,
});

const ChatBody = z
  .object({
    message: MessageText.nullish(),
    attachments: optional(Attachments.nullable()),
    app: optional(AppName.nullable()),
    public_key: optional(PublicKey.nullable()),
    user_state: optional(UserStateField.nullable()),
    client_id: optional(ClientId.nullable()),
    replaces: optional(Replaced.nullable()),
    rig: optional(Rig.nullable()),
    busy: optional(Busy.nullable()),
    messages: SnapshotMessages,
    response_schema: optional(ResponseSchemaField.nullable()),
    client_tools: ClientToolsField.nullish(),
  })
  .nullish()
  .meta({
    description:
      "The same parameters, and those that only a body can hold. One that stands in both is refused. May be absent.",
    example: { message: "what is 12 * 7?" },
  });

export function chatRoute(app: HttpApp, { services, answers, admission }: RouteParts): void {
  app.post(
    ROUTE,
    {
      config: {
        access: { session: "header", app: "body", scope: "chat", creates: true, counted: "caller" },
      },
      bodyLimit: CHAT_BODY_MAX_BYTES,
      schema: {
        operationId: "sendMessage",
        summary: "Send a message",
        description:
          "Answers at once with the snapshot of the session; follow the answer with `GET /api/updates` or `GET /api/state`. " +
          "Creates the session if it does not exist.",
        tags: ["Conversation"],
        // For the document only: the handler reads and validates headers itself.
        headers: z.object({
          ...HEADERS.session,
          ...HEADERS.appKey,
          ...HEADERS.idempotencyKey,
          ...HEADERS.prefer,
        }),
        querystring: ChatQuery,
        body: ChatBody,
        response: { 200: Snapshot, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const { sessionId } = caller;
      const parameters = merge(request.query, request.body ?? {});
      const attachments = parameters.attachments ?? [];
      const message = readMessage(parameters.message, attachments.length > 0);
      const key = idempotencyKey(request.raw);
      const waitMs = preferredWait(textHeader(request.raw, "prefer"));
      const appName = parameters.app ?? DEFAULT_APP;
      const { clientId, access } = caller.in(appName, parameters.client_id ?? null);
      const options = optionsOf(parameters);
      const signal = abortOnDisconnect(reply.raw, waitMs);
      await admission.chat(
        request,
        { app: appName, clientId, sessionId },
        key === null ? null : () => services.conversations.isRepeat(sessionId, key),
        {
          message,
          attachments,
          ...options,
          steers: (options.busy ?? services.apps.get(appName)?.onBusy) === "steer",
        },
      );
      const view = await services.conversations.chat(
        {
          sessionId,
          access,
          app: appName,
          message,
          attachments,
          ...options,
          clientId,
          idempotencyKey: key,
          messages: rangeOf(parameters.messages),
          waitMs,
          signal,
        },
        admission.newSession(request, { clientId }),
      );
      if (waitMs > 0) await caller.authorizeAgain(appName).catch(throwAfterCommit);
      answers.snapshot({ request, reply, route: ROUTE, waitMs }, view);
    },
  );
}

type QueryParameters = z.output<typeof ChatQuery>;
type BodyParameters = NonNullable<z.output<typeof ChatBody>>;

function merge(query: QueryParameters, body: BodyParameters): BodyParameters {
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined || query[name as keyof QueryParameters] === undefined) continue;
    throw new InvalidRequest(
      "parameter_repeated",
      `The parameter "${name}" is in both the query and the body. Send it in one of them.`,
    );
  }
  return { ...body, ...query };
}

function optionsOf({ replaces, rig, busy, public_key, user_state, ...body }: BodyParameters) {
  return {
    options: { responseSchema: body.response_schema, clientTools: body.client_tools },
    replaces: replaces?.toLowerCase() ?? null,
    rig: rig ?? null,
    busy: busy ?? null,
    publicKey: public_key ?? null,
    userState: user_state ?? null,
  };
}

export function interruptRoute(app: HttpApp, { services, answers, admission }: RouteParts): void {
  app.post(
    "/api/interrupt",
    {
      config: {
        access: { session: "header", app: "session", scope: "chat", creates: true, inTransaction: true },
      },
      schema: {
        operationId: "interrupt",
        summary: "Stop the answer in progress",
        description:
          "Also drops what waits behind it. The text so far stays. Does nothing when nothing is in progress.",
        tags: ["Conversation"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        querystring: z.object(SNAPSHOT_QUERY),
        response: { 200: Snapshot, ...refusals(401, 404, 413, 429, 503, 507) },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const view = await caller.run((access) =>
        services.conversations.interrupt(
          caller.sessionId,
          access,
          admission.newSession(request),
          rangeOf(request.query.messages),
        ),
      );
      answers.snapshot({ request, reply, route: "/api/interrupt", waitMs: 0 }, view);
    },
  );
}
