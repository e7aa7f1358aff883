// Errors in the format of the OpenAI API (https://platform.openai.com/docs/guides/error-codes), with this service's
// code and request id.

import type { Problem } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import type { FormattedError } from "@colloquy/server/protocol";

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  429: "rate_limit_error",
};

/** Matches the start of a detail about an invalid parameter. */
const PARAMETER = /^The (?:body field|query parameter|path parameter|parameter) "([^"]+)"/;

export function formatError({ status, detail, code, request_id }: Problem): FormattedError {
  const other = status >= 500 ? "server_error" : "invalid_request_error";
  const error = {
    message: detail,
    type: TYPES[status] ?? other,
    param: PARAMETER.exec(detail)?.[1] ?? null,
    code,
    request_id,
  };
  return { contentType: "application/json; charset=utf-8", body: JSON.stringify({ error }) };
}

/** Returns a 400 for a field, or its value, that is not supported. `advice` says what to do instead. */
export function unsupported(field: string, advice: string): ServiceError {
  const detail = `The parameter "${field}" or its value is not supported. ${advice}`;
  return new ServiceError(400, "unsupported_parameter", detail);
}

/** Returns a 400 for a field with an invalid type or format. `expectation` completes "The parameter …". */
export function invalid(field: string, expectation: string): ServiceError {
  return new ServiceError(400, "parameter_invalid", `The parameter "${field}" ${expectation}.`);
}
