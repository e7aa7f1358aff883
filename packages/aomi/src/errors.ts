// Errors in the format of the agent API. Clients act on some codes; `details` has Colloquy's.

import type { Problem } from "@colloquy/protocol";
import { type FormattedError, InvalidRequest, ServiceError } from "@colloquy/server/protocol";

/** Codes of the agent API for codes of the service. */
const CODES: Readonly<Record<string, string>> = {
  app_key_invalid: "app_key_required",
  app_forbidden: "app_key_not_scoped",
  app_not_served: "app_not_found",
  session_busy: "busy",
};

export function formatError({ status, detail, code, request_id: requestId }: Problem): FormattedError {
  const error = { code: CODES[code] ?? code, message: detail, requestId, details: { code, status } };
  return { contentType: "application/json; charset=utf-8", body: JSON.stringify({ error }) };
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
