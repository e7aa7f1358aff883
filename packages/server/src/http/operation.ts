// Parameters, headers and error responses that several operations share: parsing and documentation.

import { LAST_MESSAGES_MAX, SessionId, UserState } from "@colloquy/protocol";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "@colloquy/engine/internal/core/json";
import type { MessageRange } from "@colloquy/engine/internal/core/ports/driving/services";
import { parsePublicKey } from "@colloquy/engine/internal/core/user-state";
import { EXAMPLE_SESSION, Problem } from "./documented.ts";
import { parseJson } from "./json-text.ts";
import { PROBLEM_TYPE } from "./problem.ts";

export const EXAMPLE_WALLET = "0x8ba1f109551bd432803012645ac136ddd64dba72";
const APP_NAME_MAX = 64;
/** Characters of user state as JSON text: far more than the 8 KiB of a session's need, in any spelling. */
const USER_STATE_TEXT_MAX = 64 * 1024;
const CLIENT_ID_MAX = 128;

const text = (): z.ZodString => z.string("must be a string");

export const PublicKey = text()
  .meta({
    description: "Wallet address: 1 to 128 printable characters without white space",
    examples: [EXAMPLE_WALLET],
  })
  .transform((address, context) => {
    const key = parsePublicKey(address);
    if (key !== null) return key;
    return invalid(context, "must be a wallet address: 1 to 128 printable characters without white space");
  });

/**
 * Only `default` passes here; the caller (`access/caller.ts`) checks other names against the key first. In
 * the admin API, an empty name is refused instead of absent (`optional`): that would mean all Apps.
 */
export const AppName = text()
  .min(1, "must not be empty")
  .max(APP_NAME_MAX, `must be at most ${APP_NAME_MAX} characters`)
  .meta({ description: "Target App; `default` when absent", examples: ["default"] });

export const ClientId = text()
  .regex(/^[^\p{Cc}]{1,128}$/u, `must be 1 to ${CLIENT_ID_MAX} characters without control characters`)
  .meta({ description: "Client identifier for scoped secrets", examples: ["web-7"] });

/**
 * Matches a visible character: not a control or format character, white space, a mark, default-ignorable, or
 * blank Braille.
 */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** A title that a client chooses. */
export const Title = text()
  .trim()
  .min(1, "must not be blank")
  .max(200, "must be at most 200 characters")
  .refine((title) => VISIBLE.test(title), "must hold a character that can be seen")
  .meta({ description: "The new title; never overwritten by a generated one" });

/** An optional parameter. Empty counts as absent (contract section 6), because clients send empty form fields. */
export function optional<Parameter extends z.ZodType>(parameter: Parameter) {
  return z.preprocess((sent) => (sent === "" ? undefined : sent), parameter.optional()).optional();
}

const USER_STATE_DESCRIPTION =
  "User state (wallet, chain, connection), merged into that of the session; at most 8 KiB merged, depth 16";

const { $schema: _, ...USER_STATE_SCHEMA } = z.toJSONSchema(UserState, { io: "input" });

/** User state as JSON text in a query. `null`, which a snapshot without user state has, counts as absent. */
export const UserStateText = text()
  .meta({
    description: `JSON object, or null for none. ${USER_STATE_DESCRIPTION}`,
    contentMediaType: "application/json",
    contentSchema: { anyOf: [USER_STATE_SCHEMA, { type: "null" }] },
    examples: ['{"connection":{"is_connected":true},"evm":{"address":"0x8ba1…","chain_id":1}}'],
  })
  .transform(readUserStateText);

/** User state in a body: an object, or its JSON text. */
export const UserStateField = z
  .unknown()
  .meta({ description: USER_STATE_DESCRIPTION, anyOf: [USER_STATE_SCHEMA, { type: "string" }] })
  .transform((value, context): JsonObject | null => {
    return typeof value === "string" ? readUserStateText(value, context) : asUserState(value, context);
  });

/** An integer in a query, from 1 to `most`. */
export function limitUpTo(most: number, description: string): z.ZodType<number, string> {
  return text()
    .meta({ description, type: "integer", minimum: 1, maximum: most })
    .transform((digits, context) => {
      const number = /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
      if (number >= 1 && number <= most) return number;
      return invalid(context, `must be a whole number from 1 to ${most}`);
    });
}

/** The parameter `messages` (`last:N`) of operations that return a snapshot. */
const LastMessages = text()
  .meta({
    description: `\`last:N\`, N from 0 to ${LAST_MESSAGES_MAX}: limits the snapshot to the last N messages, and adds \`messages_before\`. Queued and streaming messages and all later ones are always included. All messages if absent`,
    pattern: "^last:\\d{1,4}$",
    examples: ["last:50"],
  })
  .transform((value, context) => {
    const last = /^last:(\d{1,4})$/.exec(value)?.[1];
    if (last !== undefined && Number(last) <= LAST_MESSAGES_MAX) return Number(last);
    return invalid(context, `must be "last:N" with a whole number N from 0 to ${LAST_MESSAGES_MAX}`);
  });

/** Query parameters of operations that return a snapshot. */
export const SNAPSHOT_QUERY = { messages: optional(LastMessages) };
export const SnapshotMessages = optional(LastMessages.nullable());

/** Returns the requested range; `null` for all messages. */
export function rangeOf(last: number | null | undefined, before: string | null = null): MessageRange | null {
  return last === null || last === undefined ? null : { last, before };
}

export const IdPath = z.object({ id: SessionId });

function readUserStateText(json: string, context: z.core.$RefinementCtx): JsonObject | null {
  if (json.length > USER_STATE_TEXT_MAX)
    return invalid(context, `must be at most ${USER_STATE_TEXT_MAX} characters`);
  const parsed = parseJson(json);
  if (!parsed.ok) return invalid(context, parsed.problem);
  if (parsed.value === null) return null;
  return asUserState(parsed.value, context);
}

/** Returns the value itself: zod's copy would lose a key `__proto__`. */
function asUserState(value: unknown, context: z.core.$RefinementCtx): JsonObject {
  if (!isJsonObject(value)) return invalid(context, "must be a JSON object");
  const [issue] = UserState.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return value;
  return invalid(context, issue.message.replace("must be", `must have at "${issue.path.join(".")}"`));
}

function invalid(context: z.core.$RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}

const REFUSALS = {
  400: "A parameter, header or body is missing or wrong",
  401: "The key or the user's token is missing or invalid",
  403: "Not allowed here: the key does not open the App, the host or origin is not allowed, or the list is closed",
  404: "The session, message, action or key does not exist, or the session was deleted a short time ago (`session_deleted`)",
  405: "The path does not know the method; `Allow` names those it knows",
  406: "`Accept` excludes the type of the response",
  408: "The request took too long to arrive",
  409: "The state of the session does not allow this",
  410: "The action has expired",
  413: "The message, file or body is too large",
  415: "The content type is not JSON, or the file's type is not accepted",
  416: "The range is beyond the end of the file",
  417: "An `Expect` header other than `100-continue`",
  429: "Rate limit exceeded; retry after `Retry-After` seconds",
  431: "URL and headers are too long together",
  500: "A failure of the service; the log has the cause under `request_id`",
  503: "Temporarily unavailable; retry after `Retry-After` seconds",
  507: "The disk of the service or a quota of files is full; reads go on",
} as const;
type Refusal = keyof typeof REFUSALS;

export interface RefusalSchema {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: z.ZodType }>>;
}

/** Error responses of every operation; 403 is for foreign hosts and origins. */
const ANYWHERE = [400, 403, 408, 417, 431, 500] as const;
type Anywhere = (typeof ANYWHERE)[number];

/** Returns the error responses of an operation by status, including the shared ones. */
export function refusals<Status extends Refusal>(
  ...statuses: readonly Status[]
): Record<Status | Anywhere, RefusalSchema> {
  return refusalsAs({ [PROBLEM_TYPE]: { schema: Problem } }, ...statuses);
}

/** Like `refusals`, for a protocol that formats its errors. */
export function refusalsAs<Status extends Refusal>(
  content: RefusalSchema["content"],
  ...statuses: readonly Status[]
): Record<Status | Anywhere, RefusalSchema> {
  const entries = [...ANYWHERE, ...statuses].map((status) => [
    status,
    { description: REFUSALS[status], content },
  ]);
  return Object.fromEntries(entries) as Record<Status | Anywhere, RefusalSchema>;
}

/** Schemas of request headers, for the document only: `request.ts` reads the headers. */
export const HEADERS = {
  session: {
    "X-Session-Id": SessionId.meta({
      description: "UUID of the session, chosen by the client; a new one creates the session",
      format: "uuid",
      examples: [EXAMPLE_SESSION],
    }),
  },
  sessionUnlessApprover: {
    "X-Session-Id": SessionId.optional().meta({
      description: "UUID of the session. Required except for approvers",
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
      .meta({ description: "App key; a key that is sent must be valid" }),
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
          "`wait=N`: answer when the session stops processing or asks a person something new, or after N seconds, at most 60 (RFC 7240)",
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
  claimKey: {
    "Idempotency-Key": z.string().min(1).max(255).optional().meta({
      description:
        "A value that no other client sends. While the claim is live, a request with the same value renews and returns it",
    }),
  },
  range: {
    Range: z
      .string()
      .optional()
      .meta({ description: "Part of the file, as `bytes=0-1023`; several parts answer the whole" }),
  },
  ifNoneMatch: {
    "If-None-Match": z
      .string()
      .optional()
      .meta({ description: "`ETag` of the snapshot that the client has; unchanged answers 304" }),
  },
} as const;

/** An optional time of a query, in milliseconds since the Unix epoch. */
export function time(description: string) {
  return z.iso
    .datetime({ offset: true, error: "must be a time in ISO 8601, such as 2026-11-20T12:00:00Z" })
    .meta({ description, format: "date-time", examples: ["2026-11-20T12:00:00.000Z"] })
    .transform((text) => Date.parse(text))
    .optional();
}
