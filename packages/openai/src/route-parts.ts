// Shared by the routes: access, request bodies, pagination and documented responses.

import { randomUUID } from "node:crypto";
import { ServiceError } from "@colloquy/engine";
import { parseSessionId } from "@colloquy/protocol";
import {
  type AppAccess,
  DEFAULT_APP,
  fileLength,
  type FastifyRequest,
  type HttpApp,
  type ParsedJson,
  parseJsonBytes,
  type ProtocolContext,
  type RefusalSchema,
  refusalsAs,
  type ServedApps,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { invalid } from "./errors.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { readModel } from "./turn-options.ts";

export type App = HttpApp;

const MIB = 1024 * 1024;
/** Maximum size of a request body in bytes, including history but excluding file data. */
const TEXT_MAX_BYTES = MIB;
/** Maximum size of a request body in bytes, including file data. */
const BODY_MAX_BYTES = 17 * MIB;
/** Header with the id of a conversation. */
export const CONVERSATION_HEADER = "x-conversation-id";
export const TAGS = ["OpenAI"];

export interface Parts {
  readonly context: ProtocolContext;
  readonly served: ServedApps;
}

/** Returns the configuration of a route whose body may contain files. */
export function withFiles(parts: Parts, access: AppAccess) {
  return {
    config: { ...parts.served.accessOf(access), parseBody: parseWithFiles },
    bodyLimit: BODY_MAX_BYTES,
  };
}

/** Parses a body. Throws a `ServiceError` 413 if it is too large, excluding file data. */
function parseWithFiles(bytes: Buffer): ParsedJson {
  const parsed = parseJsonBytes(bytes);
  if (!parsed.ok || bytes.length <= TEXT_MAX_BYTES) return parsed;
  const rest = bytes.length - fileLength(parsed.value);
  if (rest <= TEXT_MAX_BYTES) return parsed;
  const detail = `The body has ${rest} bytes without its files. Send at most ${TEXT_MAX_BYTES / 1024} KiB.`;
  throw new ServiceError(413, "body_too_large", detail);
}

/** Returns the 404 for a model of an App that is not served. */
export function unknownModel(model: string): ServiceError {
  return new ServiceError(
    404,
    "model_not_found",
    `The model "${model.slice(0, 100)}" does not exist. GET /v1/models lists the models; protocols.openai.apps in the configuration file adds Apps.`,
  );
}

/** Throws a `ServiceError` 404 if the App of the model is not served. */
export function assertServed({ served }: Parts, model: string): void {
  if (!served.names.has(readModel(model).app)) throw unknownModel(model);
}

/** A request body after `resolveTarget`: the sent fields, and the session and App that the access check reads. */
export interface Body {
  /** Id of the request's session, or of a new one. */
  readonly id: string;
  readonly app: string;
  readonly sent: JsonObject;
}

/** Returns the schema of a body. The handler validates the fields, so that errors use the clients' field names. */
export function bodyOf(description: string, example: JsonObject) {
  return z
    .unknown()
    .refine((body) => isJsonObject(body) && isJsonObject(body["sent"]), "must be a JSON object")
    .meta({ description, type: "object", additionalProperties: true, example });
}

/**
 * Returns a hook that adds the App of the model and the session id to the body. The session id is the result of
 * `sessionOf`, or a new one. The hook rejects nothing, because credentials must be checked first.
 */
export function resolveTarget(
  { context, served }: Parts,
  sessionOf: (body: JsonObject, request: FastifyRequest) => string | null,
) {
  return (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    const sent = request.body ?? {};
    if (isJsonObject(sent)) {
      const { model = "" } = sent;
      const requested = typeof model === "string" && model !== "" ? readModel(model).app : DEFAULT_APP;
      // On loopback, an unknown model such as `gpt-4o` passes the access check, so that the handler can return a
      // helpful 404. Elsewhere, the access check returns 401, which does not reveal the names of Apps.
      const app = context.isLoopback && !served.names.has(requested) ? DEFAULT_APP : requested;
      request.body = { id: sessionOf(sent, request) ?? randomUUID(), app, sent };
    }
    done();
  };
}

/** Returns a string field; `null` if it is absent. Throws a `ServiceError` 400 for another type. */
export function optionalText(body: JsonObject, name: string): string | null {
  const value = body[name] ?? null;
  if (value !== null && typeof value !== "string") throw invalid(name, "must be a string");
  return value;
}

/** Returns a boolean field; false if it is absent. Throws a `ServiceError` 400 for another type. */
export function optionalFlag(body: JsonObject, name: string): boolean {
  const value = body[name] ?? false;
  if (typeof value !== "boolean") throw invalid(name, "must be true or false");
  return value;
}

/** Returns `metadata`; empty if it is absent. Throws a `ServiceError` 400 for another type. */
export function readMetadata({ metadata = null }: JsonObject): JsonObject {
  if (metadata === null) return {};
  if (!isJsonObject(metadata)) throw invalid("metadata", "must be an object");
  return metadata;
}

/** Returns the session id in lower case; `null` if `text` is not a UUID. */
export function sessionOrNull(text: unknown): string | null {
  return typeof text === "string" ? parseSessionId(text) : null;
}

/** Returns a page in the list format of the OpenAI API. */
export function listOf(data: readonly JsonObject[], hasMore: boolean): JsonObject {
  return {
    object: "list",
    data: [...data],
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: hasMore,
  };
}

const LIST_MAX = 100;
const LIST_DEFAULT = 20;

export const ListQuery = z.object({
  after: z.string().optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, `must be an integer from 1 to ${LIST_MAX}`)
    .optional(),
  order: z.enum(["asc", "desc"], 'must be "asc" or "desc"').optional(),
  include: z.unknown().optional(),
});

/**
 * Returns the requested page of `items`, which are oldest first. Throws a `ServiceError` 400 if `after` is not the
 * id of an item.
 */
export function pageOf(
  items: readonly JsonObject[],
  { after, limit, order = "desc" }: z.output<typeof ListQuery>,
): JsonObject {
  const ordered = order === "asc" ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw invalid("after", "must be the id of an item of this list");
  const end = start + Number(limit ?? LIST_DEFAULT);
  return listOf(ordered.slice(start, end), end < ordered.length);
}

const ErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
    request_id: z.string(),
  }),
});

/** Returns the documented responses of a route. */
export function answers(description: string, { streams = false, isFile = false } = {}) {
  const json = { "application/json": { schema: z.looseObject({}) } };
  const bytes = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };
  const events = streams ? { "text/event-stream": { schema: z.looseObject({}) } } : {};
  const error = { "application/json": { schema: ErrorBody } };
  const refusals: Readonly<Record<number, RefusalSchema>> = refusalsAs(
    error,
    401,
    404,
    409,
    413,
    415,
    429,
    503,
    507,
  );
  return { 200: { description, content: { ...(isFile ? bytes : json), ...events } }, ...refusals };
}
