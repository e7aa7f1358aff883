import type { LightMyRequestResponse } from "fastify";
import { Problem } from "@colloquy/protocol";
import { expect } from "vitest";

/**
 * Asserts that an answer is a complete problem document of this status and code, with its request id. Returns
 * its detail.
 */
export function expectProblem(answer: LightMyRequestResponse, status: number, code: string): string {
  const problem = answer.json<Problem>();
  expect(problem).toMatchObject({ status, code });
  expect(answer.statusCode).toBe(status);
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  expect(Problem.strict().safeParse(problem).error).toBeUndefined();
  expect(problem.request_id).toBe(answer.headers["x-request-id"]);
  expect(problem.detail.length).toBeGreaterThan(10);
  return problem.detail;
}
