import { describe, expect, it } from "vitest";
import { ServiceError } from "../../core/errors.ts";
import { SESSION, testEdge } from "../testing/edge.ts";
import { ACTION } from "../testing/in-memory-actions.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const ID = ACTION.id;

describe("POST /api/actions/{id}", () => {
  it("decides with the given parameters, and returns the updated action", async () => {
    const edge = testEdge();
    const body = { decision: "approve", result: { answer: "This one" } };
    const response = await edge.send("POST", `/api/actions/${ID}`, { body });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual(ACTION);
    expect(edge.services.actions.last.decide).toEqual([
      SESSION,
      ID,
      { decision: "approve", result: { answer: "This one" } },
    ]);
  });

  it.each([{ decision: "deny" }, { decision: "deny", result: null }])("accepts %j", async (body) => {
    const edge = testEdge();
    edge.services.actions.answer = { ...ACTION, status: "denied", result: null };
    const response = await edge.send("POST", `/api/actions/${ID}`, { body });
    expect(response.statusCode).toBe(200);
    expect(edge.services.actions.last.decide?.[2]).toEqual({ decision: "deny", result: null });
  });

  it.each([
    ["{}", "parameter_missing"],
    ['{"decision":null}', "parameter_invalid"],
    ['{"decision":"maybe"}', "parameter_invalid"],
    ['{"decision":["approve"]}', "parameter_invalid"],
    ["[]", "body_invalid"],
    ['"approve"', "body_invalid"],
    ["null", "body_invalid"],
    ["", "body_invalid"],
    ["{", "json_invalid"],
  ])("rejects the body %s", async (payload, code) => {
    const edge = testEdge();
    const headers = { "content-type": "application/json" };
    const response = await edge.send("POST", `/api/actions/${ID}`, { headers, payload });
    expectProblem(response, 400, code);
    expect(edge.services.actions.last.decide).toBeUndefined();
  });

  it("accepts an action id in any case, like session ids", async () => {
    const edge = testEdge();
    await edge.send("POST", `/api/actions/${ID.toUpperCase()}`, { body: { decision: "deny" } });
    expect(edge.services.actions.last.decide?.[1]).toBe(ID.toLowerCase());
  });

  it("rejects a request without a valid session id", async () => {
    const edge = testEdge();
    const headers = { "x-session-id": "nonsense" };
    const response = await edge.send("POST", `/api/actions/${ID}`, { headers, body: { decision: "deny" } });
    expectProblem(response, 400, "session_id_invalid");
    expect(edge.services.actions.last.decide).toBeUndefined();
  });

  it("returns the service's refusal", async () => {
    const edge = testEdge();
    edge.services.actions.answer = new ServiceError(410, "action_expired", "The time to decide is over.");
    const response = await edge.send("POST", `/api/actions/${ID}`, { body: { decision: "approve" } });
    expectProblem(response, 410, "action_expired");
  });
});

describe("GET /api/actions", () => {
  it("lists the actions of the session", async () => {
    const edge = testEdge();
    const response = await edge.send("GET", "/api/actions");
    expect(response.statusCode).toBe(200);
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(response.json()).toEqual([ACTION]);
    expect(edge.services.actions.last.list).toBe(SESSION);
  });

  it("counts as a request that may create a session", async () => {
    const limits = { chatsPerMinute: 10, newSessionsPerMinute: 1, streamsPerAddress: 10 };
    const edge = testEdge({ loopback: false, rateLimits: limits });
    expect((await edge.send("GET", "/api/actions")).statusCode).toBe(200);
    expectProblem(await edge.send("GET", "/api/actions"), 429, "rate_limited");
  });
});
