// Invariants of every exchange, however broken the request was (contract section 6).

import { Problem } from "@colloquy/protocol";
import type { Exchange } from "./exchange.ts";
import type { GeneratedRequest } from "./generate.ts";
import type { RawAnswer } from "./http-reader.ts";

/** Statuses that a well-formed request never gets. */
const NOT_FOR_VALID = new Set([400, 405, 406, 408, 411, 413, 414, 415, 417, 426, 431]);

/** Returns what is wrong with an exchange; `null` if nothing. */
export function checkExchange(
  request: Pick<GeneratedRequest, "kind" | "answers">,
  exchange: Exchange,
): string | null {
  if (exchange.end === "refused") return "the server does not take connections";
  if (exchange.end === "hung") return "no answer and no end";
  if (exchange.defect !== null) return exchange.defect;
  if (request.answers > exchange.answers.length) {
    return `${exchange.answers.length} answers to ${request.answers} valid requests`;
  }
  const isWellFormed = request.answers > 0;
  return (
    exchange.answers.map((answer) => checkAnswer(answer, isWellFormed)).find((wrong) => wrong !== null) ??
    null
  );
}

function checkAnswer(answer: RawAnswer, isWellFormed: boolean): string | null {
  const body = answer.body.toString("utf8");
  const shown = `${answer.status} ${body.slice(0, 300)}`;
  if (answer.status >= 500) return `answered ${shown}`;
  if (isWellFormed && NOT_FOR_VALID.has(answer.status)) return `a valid request was answered ${shown}`;
  if ((answer.headers.get("x-request-id") ?? "") === "") return `no X-Request-Id: ${shown}`;
  if (answer.status >= 400) return checkProblem(answer, body);
  if (answer.headers.get("content-type")?.startsWith("application/json") === true && body !== "") {
    return readJson(body) === undefined ? `not JSON: ${shown}` : null;
  }
  return null;
}

/** RFC 9457, with the fields of contract section 6. The answer to a HEAD has no body to check. */
function checkProblem(answer: RawAnswer, body: string): string | null {
  const shown = `${answer.status} ${body.slice(0, 300)}`;
  const type = answer.headers.get("content-type") ?? "nothing";
  if (!type.startsWith("application/problem+json")) return `an error as ${type}: ${shown}`;
  if (body === "") return null;
  const problem = Problem.safeParse(readJson(body));
  if (!problem.success) return `not a problem document: ${shown}`;
  const { status, code, detail, request_id } = problem.data;
  if (status !== answer.status) return `the problem says ${status}: ${shown}`;
  if (!/^[a-z][a-z0-9_]*$/.test(code)) return `the code is no snake_case word: ${shown}`;
  if (detail.trim().length < 8) return `the detail says nothing: ${shown}`;
  if (request_id !== answer.headers.get("x-request-id"))
    return `another request_id than X-Request-Id: ${shown}`;
  return null;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
