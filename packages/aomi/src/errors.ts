// Errors in the format of the agent API. Clients act on some codes; `details` has Colloquy's.

import type { Problem } from "@colloquy/protocol";
import { type FormattedError, InvalidRequest, ServiceError } from "@colloquy/server/protocol";

/** The agent API's codes for errors of access to an App, by status. */
const ACCESS: Readonly<Record<number, string>> = { 401: "app_key_required", 403: "app_key_not_scoped" };
const OF_KEYS: ReadonlySet<string> = new Set(["app_key_missing", "app_key_invalid", "app_forbidden"]);

export function formatError({ status, detail, code, request_id: requestId }: Problem): FormattedError {
  const known = OF_KEYS.has(code) ? (ACCESS[status] ?? code) : code;
  const error = { code: known, message: detail, requestId, details: { code, status } };
  return { contentType: "application/json; charset=utf-8", body: JSON.stringify({ error }) };
}

export function busy(): ServiceError {
  return new ServiceError(
    409,
    "busy",
    "The assistant is still answering. Wait for the end of the turn, or interrupt it.",
  );
}

export function invalidCursor(): InvalidRequest {
  return new InvalidRequest("invalid_cursor", "The cursor is not one of this API. Poll without a cursor.");
}

/** The conversation was deleted and begun again. */
export function cursorExpired(): ServiceError {
  return new ServiceError(
    410,
    "cursor_expired",
    "The cursor belongs to a deleted conversation with this id. Poll without a cursor.",
  );
}
