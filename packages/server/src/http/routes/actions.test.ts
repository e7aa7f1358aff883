import { randomUUID } from "node:crypto";
import type { Snapshot } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { startEdges } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const JSON_TYPE = { "content-type": "application/json" };
const LOOK = { description: "Looks where the user is", inputSchema: { type: "object" } };
const edges = await startEdges({ apps: { default: { tools: { client: { look: LOOK } } } } });

/** Returns an edge whose session waits for a client to run a call, and the action's id. */
async function waiting() {
  const edge = edges.testEdge();
  const headers = { prefer: "wait=9" };
  const answer = await edge.send("POST", "/api/chat?message=call+look", { headers });
  const [action] = answer.json<Snapshot>().pending_actions;
  return { ...edge, id: action!.id };
}

describe("POST /api/actions/{id}/claim", () => {
  it.each([undefined, "", "null", "{}", '{"claim":null}'])(
    "makes a new claim with the body %j",
    async (payload) => {
      const { send, id } = await waiting();
      const options = payload === undefined ? {} : { headers: JSON_TYPE, payload };
      const response = await send("POST", `/api/actions/${id}/claim`, options);
      expect([response.statusCode, response.json()]).toEqual([
        200,
        { claim: expect.any(String), expires_at: expect.any(String) },
      ]);
      expect(response.headers["cache-control"]).toBe("no-store");
    },
  );

  it.each([
    ['{"claim":1}', "parameter_invalid"],
    ['{"claim":["mine"]}', "parameter_invalid"],
    ["[]", "body_invalid"],
    ['"mine"', "body_invalid"],
    ["{", "json_invalid"],
  ])("rejects the body %s", async (payload, code) => {
    const { send } = edges.testEdge();
    const path = `/api/actions/${randomUUID()}/claim`;
    expectProblem(await send("POST", path, { headers: JSON_TYPE, payload }), 400, code);
  });
});

describe("POST /api/actions/{id}", () => {
  it.each([
    [{ decision: "deny" }, "denied"],
    [{ decision: "deny", result: null, claim: null }, "denied"],
  ])("accepts %j", async (body, status) => {
    const { send, id } = await waiting();
    expect((await send("POST", `/api/actions/${id}`, { body })).json()).toMatchObject({ status });
  });

  it("accepts action ids in any case, like session ids", async () => {
    const { send, id } = await waiting();
    const path = `/api/actions/${id.toUpperCase()}`;
    const { claim } = (await send("POST", `${path}/claim`)).json<{ claim: string }>();
    const body = { decision: "approve", claim, result: { output: null } };
    expect((await send("POST", path, { body })).statusCode).toBe(200);
  });

  it.each([
    ["{}", "parameter_missing"],
    ['{"decision":null}', "parameter_invalid"],
    ['{"decision":"maybe"}', "parameter_invalid"],
    ['{"decision":["approve"]}', "parameter_invalid"],
    ['{"decision":"deny","claim":1}', "parameter_invalid"],
    ["[]", "body_invalid"],
    ['"approve"', "body_invalid"],
    ["null", "body_invalid"],
    ["", "body_invalid"],
    ["{", "json_invalid"],
  ])("rejects the body %s", async (payload, code) => {
    const { send } = edges.testEdge();
    const path = `/api/actions/${randomUUID()}`;
    expectProblem(await send("POST", path, { headers: JSON_TYPE, payload }), 400, code);
  });

  it.each([
    [80 * 1_024, 404],
    [80 * 1_024 + 1, 413],
  ])("answers a body of %i bytes for an unknown action with %i", async (bytes, status) => {
    const text = '{"decision":"approve","claim":"mine","result":{"output":""}}';
    const payload = text.replace('""', `"${"x".repeat(bytes - text.length)}"`);
    const options = { headers: JSON_TYPE, payload };
    const response = await edges.testEdge().send("POST", `/api/actions/${randomUUID()}`, options);
    expect(response.statusCode).toBe(status);
  });
});

describe("GET /api/actions", () => {
  it("is not cached, and counts as a request that may create a session", async () => {
    const edge = edges.testEdge({ loopback: false, rateLimits: { newSessionsPerMinute: 1 } });
    const first = await edge.send("GET", "/api/actions");
    expect([first.statusCode, first.headers["cache-control"]]).toEqual([200, "no-store"]);
    const other = { headers: { "x-session-id": randomUUID() } };
    expectProblem(await edge.send("GET", "/api/actions", other), 429, "rate_limited");
  });
});
