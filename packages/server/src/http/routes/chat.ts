// Sends a message, or interrupts the assistant. Before a handler runs, `app.ts` checks and counts the request, and `guard` checks
// its App key. The response is a snapshot. Events leave on the streams that `updates.ts` opens: the session registry (commits) and
// the turn's journal (text) publish them to the hub, and bus/feed.ts writes them.

import { z } from "zod";
import { InvalidRequest, ServiceError, throwAfterCommit } from "../../core/errors.ts";
import { ClientToolsField, ResponseSchemaField } from "../../core/requested-options.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { Snapshot } from "../documented.ts";
import {
  idempotencyKey,
  preferredWait,
  requiredSessionId,
  textHeader,
  abortOnDisconnect,
} from "../request.ts";
import {
  AppName,
  ClientId,
  HEADERS,
  optional,
  PublicKey,
  refusals,
  UserStateField,
  UserStateText,
} from "../operation.ts";
import { CHAT_BODY_MAX_BYTES } from "../problem.ts";
import { withoutWriteBudget, type HttpApp, type RouteParts } from "./route-parts.ts";

const ROUTE = "/api/chat";
/** Characters (UTF-16 units) of a message (contract section 6). */
const MESSAGE_MAX = 32_768;

const MessageText = z.string("must be a string").meta({
  description:
    "The user's message, 1 to 32,768 characters, not all of them white space. Required, here or in the body.",
  minLength: 1,
  examples: ["what is 12 * 7?"],
});

const Replaced = z.uuid("must be the id of a message").meta({
  description:
    "Id of a user's message of the session. This message replaces it; everything after it is removed, and what runs or waits is interrupted",
});
const Rig = z.string("must be a string").meta({
  description: "Model of the App that answers this message and the next ones; the session's when absent",
});

const ChatQuery = z.object({
  message: MessageText.optional(),
  app: optional(AppName),
  public_key: optional(PublicKey),
  user_state: optional(UserStateText),
  client_id: optional(ClientId),
  replaces: optional(Replaced),
  rig: optional(Rig),
});

const ChatBody = z
  .object({
    message: MessageText.nullish(),
    app: optional(AppName.nullable()),
    public_key: optional(PublicKey.nullable()),
    user_state: optional(UserStateField.nullable()),
    client_id: optional(ClientId.nullable()),
    replaces: optional(Replaced.nullable()),
    rig: optional(Rig.nullable()),
    response_schema: optional(ResponseSchemaField.nullable()),
    client_tools: ClientToolsField.nullish(),
  })
  .nullish()
  .meta({
    description:
      "The same parameters, and those that only a body can hold. One that stands in both is refused. May be absent.",
    example: { message: "what is 12 * 7?" },
  });

export function chatRoute(app: HttpApp, { services, answers, admission, guard }: RouteParts): void {
  app.post(
    ROUTE,
    {
      bodyLimit: CHAT_BODY_MAX_BYTES,
      schema: {
        operationId: "sendMessage",
        summary: "Send a message",
        description:
          "Answers at once with the snapshot of the session; follow the answer with `GET /api/updates` or `GET /api/state`. " +
          "Creates the session when there is none.",
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
      ...withoutWriteBudget(guard.queryOrBodyHooks("chat")),
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const parameters = merge(request.query, request.body ?? {});
      const message = readMessage(parameters.message);
      const key = idempotencyKey(request.raw);
      const waitMs = preferredWait(textHeader(request.raw, "prefer"));
      const appName = parameters.app ?? DEFAULT_APP;
      const { clientId, access } = guard.authorizeCaller(request, appName, parameters.client_id ?? null);
      const options = optionsOf(parameters);
      const signal = abortOnDisconnect(reply.raw, waitMs);
      await admission.chat(
        request,
        { app: appName, clientId, sessionId },
        key === null ? null : () => services.conversations.isRepeat(sessionId, key),
        { message, ...options },
      );
      const view = await services.conversations.chat(
        {
          sessionId,
          access,
          app: appName,
          message,
          ...options,
          clientId,
          idempotencyKey: key,
          waitMs,
          signal,
        },
        admission.newSession(request, { clientId }),
      );
      if (waitMs > 0) await guard.authorizeAgain(request, sessionId, appName).catch(throwAfterCommit);
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

function optionsOf({ replaces, rig, public_key, user_state, ...body }: BodyParameters) {
  return {
    options: { responseSchema: body.response_schema, clientTools: body.client_tools },
    replaces: replaces?.toLowerCase() ?? null,
    rig: rig ?? null,
    publicKey: public_key ?? null,
    userState: user_state ?? null,
  };
}

/** Returns the message unchanged: leading white space may be intended, as in indented code. */
export function readMessage(message: string | null | undefined): string {
  if (message === null || message === undefined) {
    throw new InvalidRequest(
      "parameter_missing",
      'The parameter "message" is missing. Send the text of the message in the query or in a JSON body.',
    );
  }
  if (message.trim() === "") {
    throw new InvalidRequest(
      "message_blank",
      "The message is blank. Send at least one character that is not white space.",
    );
  }
  if (message.length > MESSAGE_MAX) {
    throw new ServiceError(
      413,
      "message_too_long",
      `The message has ${message.length} characters. Send at most ${MESSAGE_MAX}.`,
    );
  }
  return message;
}

export function interruptRoute(app: HttpApp, { services, answers, admission, guard }: RouteParts): void {
  app.post(
    "/api/interrupt",
    {
      schema: {
        operationId: "interrupt",
        summary: "Stop the answer in progress",
        description:
          "Also drops what waits behind it. The text so far stays. Does nothing when nothing is in progress.",
        tags: ["Conversation"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        response: { 200: Snapshot, ...refusals(401, 404, 413, 429, 503, 507) },
      },
      ...guard.sessionCommandHooks("chat"),
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const view = await guard.runAuthorized(request, sessionId, (allowed) =>
        services.conversations.interrupt(sessionId, allowed, admission.newSession(request)),
      );
      answers.snapshot({ request, reply, route: "/api/interrupt", waitMs: 0 }, view);
    },
  );
}
