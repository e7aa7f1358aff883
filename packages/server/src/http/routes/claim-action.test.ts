import { describe, expect, it } from "vitest";
import { ServiceError } from "../../core/errors.ts";
import { SESSION, testEdge } from "../testing/edge.ts";
import { ACTION } from "../testing/in-memory-actions.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const ID = ACTION.id;
const PATH = `/api/actions/${ID}/claim`;
const JSON_TYPE = { "content-type": "application/json" };

describe("POST /api/actions/{id}/claim", () => {
  it.each([undefined, "", "null", "{}", '{"claim":null}'])(
    "makes a new claim with the body %j",
    async (body) => {
      const edge = testEdge();
      const response = await edge.send(
        "POST",
        PATH,
        body === undefined ? {} : { headers: JSON_TYPE, payload: body },
      );
      expect([response.statusCode, response.json()]).toEqual([
        200,
        { claim: expect.any(String), expires_at: ACTION.expires_at },
      ]);
      expect(response.headers["cache-control"]).toBe("no-store");
      expect(edge.services.actions.last.claim).toEqual([SESSION, ID, { renews: null, idempotencyKey: null }]);
    },
  );

  it("renews a claim", async () => {
    const edge = testEdge();
    const headers = { "idempotency-key": "key" };
    const response = await edge.send("POST", PATH, { body: { claim: "mine" }, headers });
    expect(response.json()).toMatchObject({ claim: "mine" });
    expect(edge.services.actions.last.claim).toEqual([
      SESSION,
      ID,
      { renews: "mine", idempotencyKey: "key" },
    ]);
  });

  it.each([
    ['{"claim":1}', "parameter_invalid"],
    ['{"claim":["mine"]}', "parameter_invalid"],
    ["[]", "body_invalid"],
    ['"mine"', "body_invalid"],
    ["{", "json_invalid"],
  ])("rejects the body %s", async (payload, code) => {
    const edge = testEdge();
    expectProblem(await edge.send("POST", PATH, { headers: JSON_TYPE, payload }), 400, code);
    expect(edge.services.actions.last.claim).toBeUndefined();
  });

  it("accepts an action id in any case", async () => {
    const edge = testEdge();
    await edge.send("POST", `/api/actions/${ID.toUpperCase()}/claim`);
    expect(edge.services.actions.last.claim?.[1]).toBe(ID.toLowerCase());
  });

  it("rejects a request without a valid session id", async () => {
    const edge = testEdge();
    const headers = { "x-session-id": "nonsense" };
    expectProblem(await edge.send("POST", PATH, { headers }), 400, "session_id_invalid");
    expect(edge.services.actions.last.claim).toBeUndefined();
  });

  it("returns the service's refusal", async () => {
    const edge = testEdge();
    edge.services.actions.answer = new ServiceError(409, "action_claimed", "Another client has it.");
    expectProblem(await edge.send("POST", PATH), 409, "action_claimed");
  });
});

describe("POST /api/actions/{id} with a claim", () => {
  it.each([
    [{ decision: "approve", claim: "mine", result: { output: null } }, { claim: "mine" }],
    [{ decision: "approve", claim: null, result: { output: null } }, {}],
    [{ decision: "approve", result: { output: null } }, {}],
  ])("decides %j", async (body, claim) => {
    const edge = testEdge();
    expect((await edge.send("POST", `/api/actions/${ID}`, { body })).statusCode).toBe(200);
    expect(edge.services.actions.last.decide?.[2]).toEqual({
      decision: "approve",
      result: { output: null },
      ...claim,
    });
  });

  it("rejects a claim that is not text", async () => {
    const edge = testEdge();
    const body = { decision: "deny", claim: 1 };
    expectProblem(await edge.send("POST", `/api/actions/${ID}`, { body }), 400, "parameter_invalid");
    expect(edge.services.actions.last.decide).toBeUndefined();
  });

  it.each([
    [80 * 1_024, 200],
    [80 * 1_024 + 1, 413],
  ])("answers a body of %i bytes with %i", async (bytes, status) => {
    const edge = testEdge();
    const text = '{"decision":"approve","claim":"mine","result":{"output":""}}';
    const payload = text.replace('""', `"${"x".repeat(bytes - text.length)}"`);
    const response = await edge.send("POST", `/api/actions/${ID}`, { headers: JSON_TYPE, payload });
    expect(response.statusCode).toBe(status);
  });
});
