// Headers and refusals that many operations share in the OpenAPI document.

import { SessionId } from "@colloquy/protocol";
import { z } from "zod";
import { EXAMPLE_SESSION, Problem } from "./documented.ts";
import { PROBLEM_TYPE } from "./problem.ts";

const REFUSALS = {
  400: "A parameter, header or body is missing or wrong",
  401: "The key is missing or not a good one",
  403: "Not allowed here: the key does not open the App, the host or origin is not allowed, or the list is closed",
  404: "The session, message, action or key does not exist, or the session was deleted meanwhile (`session_deleted`)",
  405: "The path does not know the method; `Allow` names those it knows",
  406: "`Accept` excludes what this answers with",
  408: "The request did not arrive in time",
  409: "Not possible in the state that the session is in",
  410: "The time to decide is over",
  413: "The message or the body is too long",
  415: "The body is not JSON",
  417: "An `Expect` header other than `100-continue`",
  429: "Too many; `Retry-After` says when to come back",
  431: "URL and headers are too long together",
  500: "A failure of the service; the log has the cause under `request_id`",
  503: "Not now; `Retry-After` says when to come back",
  507: "The disk of the service is full; reads go on",
} as const;
type Refusal = keyof typeof REFUSALS;

interface RefusalSchema {
  readonly description: string;
  readonly content: Readonly<Record<typeof PROBLEM_TYPE, { readonly schema: typeof Problem }>>;
}

/** Refusals of any request; 403 is for foreign hosts and origins. */
const ANYWHERE = [400, 403, 408, 417, 431, 500] as const;
type Anywhere = (typeof ANYWHERE)[number];

/** Returns the refusals of an operation by status, including the shared ones. */
export function refusals<Status extends Refusal>(
  ...statuses: readonly Status[]
): Record<Status | Anywhere, RefusalSchema> {
  const entries = [...ANYWHERE, ...statuses].map((status) => [
    status,
    { description: REFUSALS[status], content: { [PROBLEM_TYPE]: { schema: Problem } } },
  ]);
  return Object.fromEntries(entries) as Record<Status | Anywhere, RefusalSchema>;
}

/** Request headers, for the document; `request.ts` reads them. */
export const HEADERS = {
  session: {
    "X-Session-Id": SessionId.meta({
      description: "UUID of the session, chosen by the client; a new one creates the session",
      format: "uuid",
      examples: [EXAMPLE_SESSION],
    }),
  },
  appKey: {
    "SERVICE-APP-KEY": z
      .string()
      .optional()
      .meta({ description: "App key; needed for every App but `default`" }),
  },
  listKey: {
    "SERVICE-APP-KEY": z
      .string()
      .optional()
      .meta({ description: "App key; one that is sent must be a good one" }),
  },
  sessionKey: {
    "SERVICE-APP-KEY": z.string().optional().meta({
      description:
        "App key; on a session of an App other than `default` one that is sent must open it, and some Apps ask for it",
    }),
  },
  prefer: {
    Prefer: z
      .string()
      .optional()
      .meta({
        description:
          "`wait=N`: answer when the session stops processing, or after N seconds, at most 60 (RFC 7240)",
        examples: ["wait=30"],
      }),
  },
  idempotencyKey: {
    "Idempotency-Key": z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: "Sent again within 24 hours with the same message, the chat is not repeated" }),
  },
  ifNoneMatch: {
    "If-None-Match": z
      .string()
      .optional()
      .meta({ description: "`ETag` of the snapshot that the client has; unchanged answers 304" }),
  },
} as const;
