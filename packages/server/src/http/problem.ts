// Every failure becomes one shape on the wire: application/problem+json (RFC 9457; contract section 6).

import { STATUS_CODES } from "node:http";
import type { Problem } from "@colloquy/protocol";
import type { FastifyError } from "fastify";
import { InvalidRequest, ServiceError } from "../core/errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** Bytes of a request body that are read at most, and of that of a chat (contract section 6). */
export const BODY_MAX_BYTES = 64 * 1024;
export const CHAT_BODY_MAX_BYTES = 256 * 1024;

const INTERNAL_DETAIL =
  "Something went wrong on our side. Send the request again; if it keeps failing, report it with the request_id.";

/**
 * The failure as it is shown. What is no ServiceError and not one of the framework's refusals is a 500 whose cause
 * nobody outside learns.
 */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof Error && "code" in thrown && "statusCode" in thrown) {
    const refusal = refusedByFramework(thrown as FastifyError);
    if (refusal !== null) return refusal;
  }
  return new ServiceError(500, "internal_error", INTERNAL_DETAIL, { cause: thrown });
}

/** The body of a failure's answer. */
export function problemBytes(error: ServiceError, requestId: string): Buffer {
  const problem: Problem = {
    // "about:blank": the problem has no more meaning than its status; `code` says the rest (RFC 9457 section 4.2.1).
    type: "about:blank",
    title: STATUS_CODES[error.status] ?? "Error",
    status: error.status,
    detail: error.detail,
    code: error.code,
    request_id: requestId,
  };
  return Buffer.from(JSON.stringify(problem));
}

function refusedByFramework(error: FastifyError): ServiceError | null {
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return bodyTooLarge();
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return unsupportedMediaType();
    case "FST_ERR_BAD_URL":
      return new InvalidRequest(
        "url_encoding_invalid",
        "The path holds a percent-encoding that is not two hexadecimal digits or not UTF-8.",
      );
    default:
      // Broken off while its body was read, a length that is wrong, and the like.
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? new InvalidRequest("request_invalid", `The request could not be read: ${error.message}`)
        : null;
  }
}

/** 413, which Fastify decides by `Content-Length` or while it reads: nothing of such a body is parsed. */
export function bodyTooLarge(): ServiceError {
  const [most, chat] = [BODY_MAX_BYTES / 1024, CHAT_BODY_MAX_BYTES / 1024];
  return new ServiceError(
    413,
    "body_too_large",
    `Send a body of at most ${most} KiB, ${chat} KiB for a chat.`,
  );
}

/** 415: the body is not JSON. */
export function unsupportedMediaType(): ServiceError {
  return new ServiceError(
    415,
    "media_type_unsupported",
    "Send the body as JSON in UTF-8, not compressed, with Content-Type: application/json.",
  );
}
