// Checks one exchange. These rules hold even if the request was malformed (contract section 6).

import { Problem } from "@colloquy/protocol";
import type { Exchange } from "./exchange.ts";
import type { GeneratedRequest } from "./generate.ts";
import type { RawAnswer } from "./http-reader.ts";

/** Statuses that only a malformed request may get. */
const MALFORMED_ONLY = new Set([400, 405, 406, 408, 411, 413, 414, 415, 417, 426, 431]);

/** Returns the first violation, `null` if there is none. */
export function checkExchange(
  request: Pick<GeneratedRequest, "kind" | "answers">,
  exchange: Exchange,
): string | null {
  if (exchange.end === "refused") return "the server refuses connections";
  if (exchange.end === "hung") return "the server neither answers nor closes the connection";
  if (exchange.defect !== null) return exchange.defect;
  if (request.answers > exchange.answers.length) {
    return `${exchange.answers.length} answers to ${request.answers} valid requests`;
  }
  const isWellFormed = request.answers > 0;
  const violations = exchange.answers.map((answer) => checkAnswer(answer, isWellFormed));
  return violations.find((violation) => violation !== null) ?? null;
}

function checkAnswer(answer: RawAnswer, isWellFormed: boolean): string | null {
  const body = answer.body.toString("utf8");
  const shown = `${answer.status} ${body.slice(0, 300)}`;
  if (answer.status >= 500) return `server error: ${shown}`;
  if (isWellFormed && MALFORMED_ONLY.has(answer.status)) return `a valid request was refused: ${shown}`;
  if ((answer.headers.get("x-request-id") ?? "") === "") return `no X-Request-Id: ${shown}`;
  if (answer.status >= 400) return checkProblem(answer, body);
  if (answer.headers.get("content-type")?.startsWith("application/json") === true && body !== "") {
    return parseJson(body) === undefined ? `not JSON: ${shown}` : null;
  }
  return null;
}

/** Checks a problem document (RFC 9457) and the fields of contract section 6. Answers to HEAD have no body. */
function checkProblem(answer: RawAnswer, body: string): string | null {
  const shown = `${answer.status} ${body.slice(0, 300)}`;
  const type = answer.headers.get("content-type") ?? "no content type";
  const content = parseJson(body);
  const foreign = isObject(content) ? foreignError(content) : null;
  // Answers to HEAD have no body.
  if (type.startsWith("application/json") && body === "") return null;
  if (type.startsWith("application/json") && isObject(foreign)) return checkForeign(answer, foreign, shown);
  if (!type.startsWith("application/problem+json")) return `an error of type ${type}: ${shown}`;
  if (body === "") return null;
  const problem = Problem.safeParse(content);
  if (!problem.success) return `not a problem document: ${shown}`;
  const { status, code, detail, request_id } = problem.data;
  if (status !== answer.status) return `status ${status} in the problem document: ${shown}`;
  if (!/^[a-z][a-z0-9_]*$/.test(code)) return `the code is not snake_case: ${shown}`;
  if (detail.trim().length < 8) return `the detail is too short: ${shown}`;
  if (request_id !== answer.headers.get("x-request-id"))
    return `request_id differs from X-Request-Id: ${shown}`;
  return null;
}

/** Returns the error object in an error response of a protocol (docs/protocols/). For AG-UI, it is an event. */
function foreignError({ error, metadata, ...event }: Readonly<Record<string, unknown>>): unknown {
  return isObject(metadata) ? { ...event, request_id: metadata["request_id"] } : error;
}

/** Checks that the error of a protocol has a code and the request id; for MCP, in `data`. */
function checkForeign(
  answer: RawAnswer,
  error: Readonly<Record<string, unknown>>,
  shown: string,
): string | null {
  const { message, data } = error;
  const { code, request_id, requestId: id = request_id } = isObject(data) ? data : error;
  if (typeof message !== "string" || message.trim().length < 8) return `the message is too short: ${shown}`;
  if (typeof code !== "string" || !/^[a-z][a-z0-9_]*$/.test(code))
    return `the code is not snake_case: ${shown}`;
  return id === answer.headers.get("x-request-id") ? null : `request_id differs from X-Request-Id: ${shown}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
