// Turns every failure into application/problem+json (RFC 9457; contract section 6).

import { STATUS_CODES } from "node:http";
import type { Problem } from "@colloquy/protocol";
import type { FastifyError } from "fastify";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";

export const PROBLEM_TYPE = "application/problem+json";

/** Maximum bytes of a request body, and of a chat's (contract section 6). */
export const BODY_MAX_BYTES = 64 * 1024;
export const CHAT_BODY_MAX_BYTES = 256 * 1024;
/** Maximum bytes of the body of a decision, whose result may have 64 KiB. */
export const DECISION_BODY_MAX_BYTES = 80 * 1024;
/** Maximum length of the comment on a decision. */
export const DECISION_COMMENT_MAX = 1_000;

const INTERNAL_DETAIL =
  "Something went wrong on our side. Send the request again; if it keeps failing, report it with the request_id.";

/**
 * Returns the public form of a failure. Any error except a `ServiceError` or a refusal of the framework
 * becomes a 500 without its cause.
 */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof Error && "code" in thrown && "statusCode" in thrown) {
    const refusal = refusedByFramework(thrown as FastifyError);
    if (refusal !== null) return refusal;
  }
  return new ServiceError(500, "internal_error", INTERNAL_DETAIL, { cause: thrown });
}

/** Returns the body of a failure. */
export function problemBytes(error: ServiceError, requestId: string): Buffer {
  return Buffer.from(JSON.stringify(problemOf(error, requestId)));
}

export function problemOf(error: ServiceError, requestId: string): Problem {
  return {
    // "about:blank": the status is the type; `code` adds detail (RFC 9457 section 4.2.1).
    type: "about:blank",
    title: STATUS_CODES[error.status] ?? "Error",
    status: error.status,
    detail: error.detail,
    code: error.code,
    request_id: requestId,
  };
}

function refusedByFramework(error: FastifyError): ServiceError | null {
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return unsupportedMediaType();
    case "FST_ERR_BAD_URL":
      return new InvalidRequest(
        "url_encoding_invalid",
        "The path contains a percent-encoding that is not two hexadecimal digits or not UTF-8.",
      );
    default:
      // Aborted bodies, wrong lengths, and similar failures.
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? new InvalidRequest("request_invalid", `The request could not be read: ${error.message}`)
        : null;
  }
}

/** Returns the 413 for a body of more than `limit` bytes. */
export function bodyTooLarge(limit: number): ServiceError {
  const detail = `The body is too large. Send at most ${limit / 1024} KiB. Earlier messages are stored here; send only new ones.`;
  return new ServiceError(413, "body_too_large", detail);
}

/** Returns the 415 for a body that is not JSON. */
export function unsupportedMediaType(): ServiceError {
  return new ServiceError(
    415,
    "media_type_unsupported",
    "Send the body as JSON in UTF-8, not compressed, with Content-Type: application/json.",
  );
}
