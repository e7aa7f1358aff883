// Formats errors as JSON-RPC 2.0 error responses, with Colloquy's error code and the request id in `data`.

import type { Problem } from "@colloquy/protocol";
import { type FormattedError, type JsonObject, type JsonValue, refusalsAs } from "@colloquy/server/protocol";
import { z } from "zod";

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;
/** First of the codes that JSON-RPC reserves for implementation-defined server errors. */
const SERVER_ERROR = -32_000;

const UNREADABLE: ReadonlySet<string> = new Set(["json_invalid", "json_too_deep", "text_invalid"]);

function rpcCode({ status, code }: Pick<Problem, "status" | "code">): number {
  if (UNREADABLE.has(code)) return PARSE_ERROR;
  if (status === 400 || status === 413 || status === 415) return INVALID_REQUEST;
  return status === 500 ? INTERNAL_ERROR : SERVER_ERROR;
}

/** Formats an error response. `id` is the id of the request, or `null` if its message was not read. */
export function formatError(
  problem: Pick<Problem, "status" | "code" | "detail" | "request_id">,
  id: JsonValue = null,
): FormattedError {
  const { detail: message, code, request_id } = problem;
  const error = { code: rpcCode(problem), message, data: { code, request_id } };
  const body = JSON.stringify({ jsonrpc: "2.0", id, error });
  return { contentType: "application/json; charset=utf-8", body };
}

/** Colloquy's codes for errors of the SDK, by JSON-RPC code. */
const SDK_CODES: Readonly<Record<number, string>> = {
  [PARSE_ERROR]: "json_invalid",
  [INVALID_REQUEST]: "request_invalid",
  [-32_601]: "method_not_found",
  [-32_602]: "params_invalid",
  [INTERNAL_ERROR]: "internal_error",
  [-32_020]: "header_mismatch",
  [-32_021]: "client_capability_missing",
  [-32_022]: "protocol_version_unsupported",
};

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonObject;
}

/** Adds Colloquy's error code and the request id to `data` of an error. */
export function identified({ data, ...error }: RpcError, requestId: string): RpcError {
  return { ...error, data: { code: SDK_CODES[error.code] ?? "mcp_error", ...data, request_id: requestId } };
}

const ErrorBody = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  error: z.object({
    code: z.int(),
    message: z.string(),
    data: z.looseObject({ code: z.string(), request_id: z.string() }),
  }),
});

/** The error responses for the schema of a route. */
export const ERROR_RESPONSES = refusalsAs(
  { "application/json": { schema: ErrorBody } },
  401,
  404,
  413,
  415,
  429,
  503,
  507,
);
