import { IncludeGroup } from "@colloquy/protocol";
import { z } from "zod";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";
import { UpdateEvent } from "../documented.ts";
import { textHeader } from "../request.ts";
import { sendStream } from "../stream-response.ts";
import { HEADERS, optional, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const ROUTE = "/api/updates";
const EVENT_STREAM = "text/event-stream";
const STREAM =
  "The stream, as long as both sides like: each `data:` line holds one event in JSON, the `id:` line before it the event's id. " +
  "Events without an id are live only. `retry:` comes first; comments are heartbeats.";
const GROUPS = IncludeGroup.options;

const UpdatesQuery = z.object({
  include: optional(
    z
      .string("must be a string")
      .meta({
        description:
          "Groups of events to send beside `title_changed`, `tool_update`, `tool_complete` and `system_notice`, separated by commas: " +
          GROUPS.join(", "),
        examples: ["tools,messages,state"],
      })
      .transform((list, context): ReadonlySet<IncludeGroup> => {
        const names = list.split(",").map((name) => name.trim());
        const groups = names.flatMap((name) => GROUPS.find((group) => group === name) ?? []);
        if (groups.length === names.length) return new Set(groups);
        context.addIssue({
          code: "custom",
          message: `must be a list of ${GROUPS.join(", ")}, separated by commas`,
        });
        return z.NEVER;
      }),
  ),
  last_event_id: optional(
    z
      .string("must be a string")
      .meta({ description: "Same as the header `Last-Event-ID`, which takes precedence" }),
  ),
});

/** Without `include`: no group, so that events of messages are sent only with `include=messages`. */
const NO_GROUPS: ReadonlySet<IncludeGroup> = new Set();

export function updatesRoute(app: HttpApp, parts: RouteParts): void {
  const { services, admission } = parts;
  app.get(
    ROUTE,
    {
      config: { access: { session: "header", app: "session", scope: "read", creates: true, streams: true } },
      exposeHeadRoute: false,
      schema: {
        operationId: "subscribe",
        summary: "Follow the events of a session",
        description:
          "A stream of server-sent events, one JSON object a `data:` line. Creates the session if it does not exist, unless it was deleted in the last ten minutes.",
        tags: ["Conversation"],
        headers: z.object({
          ...HEADERS.session,
          ...HEADERS.sessionKey,
          Accept: z
            .string()
            .meta({ description: "Must allow `text/event-stream`", examples: [EVENT_STREAM] }),
          "Last-Event-ID": z.string().optional().meta({
            description: "Id of the last event that the client has; what came after it is sent first",
          }),
        }),
        querystring: UpdatesQuery,
        response: {
          200: { description: STREAM, content: { [EVENT_STREAM]: { schema: UpdateEvent } } },
          ...refusals(401, 404, 406, 429, 503, 507),
        },
      },
    },
    (request, reply) => {
      const { caller } = request;
      const { sessionId } = caller;
      requireEventStream(textHeader(request.raw, "accept"));
      const { include, last_event_id: fromQuery } = request.query;
      const lastEventId = (textHeader(request.raw, "last-event-id") || fromQuery) ?? null;
      caller.found();
      const wanted = {
        sessionId,
        access: caller.streamAccess(),
        include: include ?? NO_GROUPS,
        lastEventId,
      };
      return sendStream(parts, { request, reply, route: ROUTE, waitMs: 0, sessionId }, (stream) =>
        services.updates.open(wanted, stream, admission.newSession(request)),
      );
    },
  );
}

function requireEventStream(accept: string | null): void {
  if (accept === null || accept.trim() === "") {
    throw new InvalidRequest("accept_missing", `Send the header Accept: ${EVENT_STREAM}.`);
  }
  if (acceptQuality(accept, EVENT_STREAM) === 0) {
    throw new ServiceError(
      406,
      "not_acceptable",
      `This answers with ${EVENT_STREAM}; the header Accept must allow it.`,
    );
  }
}

/**
 * Returns the quality of a media type in an `Accept` header: 0 (not acceptable) to 1. The most specific matching range
 * decides (RFC 9110 section 12.5.1). Ignores other parameters, such as the charset that some clients send.
 */
export function acceptQuality(header: string, type: string): number {
  const [family = ""] = type.split("/");
  let specificity = 0;
  let quality = 0;
  for (const range of header.split(",")) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const rank = name === type ? 3 : name === `${family}/*` ? 2 : name === "*/*" ? 1 : 0;
    if (rank === 0 || rank < specificity) continue;
    const own = weight(parameters);
    quality = rank === specificity ? Math.max(quality, own) : own;
    specificity = rank;
  }
  return quality;
}

function weight(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  if (text === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
