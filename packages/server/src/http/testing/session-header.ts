import type { InjectOptions } from "fastify";
import { expect, it } from "vitest";
import { SESSION, testEdge, type TestEdge } from "./edge.ts";
import { expectProblem } from "./expect-problem.ts";

const MALFORMED = [
  "",
  "x",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d1",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d111",
  "7f8d1f0e8a544c4e9d270b5c3c0b8d11",
  "{7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11}",
  "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d1g",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
];

/**
 * Tests the rules of a required `X-Session-Id` (contract section 1), with a request that is otherwise valid.
 */
export function itNeedsASessionId(
  request: InjectOptions,
  prepare: (edge: TestEdge) => TestEdge = (edge) => edge,
): void {
  it("requires the header X-Session-Id", async () => {
    const edge = testEdge();
    expectProblem(await edge.app.inject(request), 400, "session_id_missing");
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it.each(MALFORMED)("rejects the session id %j", async (id) => {
    const edge = testEdge();
    const headers = { ...request.headers, "x-session-id": id };
    expectProblem(await edge.app.inject({ ...request, headers }), 400, "session_id_invalid");
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("rejects a session id that is sent twice, even if equal", async () => {
    const edge = testEdge();
    const headers = { ...request.headers, "x-session-id": [SESSION, SESSION] };
    expectProblem(await edge.app.inject({ ...request, headers }), 400, "session_id_invalid");
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("creates the session of a new id, in lower case", async () => {
    const edge = prepare(testEdge());
    const headers = { ...request.headers, "x-session-id": SESSION.toUpperCase() };
    expect((await edge.app.inject({ ...request, headers })).statusCode).toBe(200);
    expect([...edge.services.conversations.sessions.keys()]).toEqual([SESSION]);
  });
}
