import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { expectProblem } from "../testing/expect-problem.ts";
import { startEdges, type TestEdge } from "../testing/edge.ts";

const JSON_TYPE = { "content-type": "application/json" };
const edges = await startEdges();

describe("POST /api/sessions", () => {
  it.each([
    ["an empty body of any type", { "content-type": "application/x-www-form-urlencoded" }, ""],
    ["a null wallet", JSON_TYPE, '{"public_key":null}'],
    ["an empty wallet", JSON_TYPE, '{"public_key":""}'],
    ["unknown fields", JSON_TYPE, '{"colour":"red"}'],
  ])("accepts %s", async (_name, headers, payload) => {
    const answer = await edges.testEdge().send("POST", "/api/sessions", { headers, payload });
    expect(answer.statusCode).toBe(200);
  });

  it.each([
    ['{"public_key":"a b"}', "parameter_invalid"],
    ['"text"', "body_invalid"],
    ["{", "json_invalid"],
    [String.raw`{"public_key":"a\u0000"}`, "text_invalid"],
    [String.raw`{"x\ud800":1}`, "text_invalid"],
    ["[".repeat(33) + "]".repeat(33), "json_too_deep"],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "text_invalid"],
  ])("names what is wrong with the body %s", async (payload, code) => {
    const edge = edges.testEdge();
    expectProblem(await edge.send("POST", "/api/sessions", { headers: JSON_TYPE, payload }), 400, code);
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it.each([
    { "content-type": "text/plain; charset=utf-16" },
    { "content-type": "application/json; charset=utf-16" },
    { "content-type": "application/json", "content-encoding": "gzip" },
    { "content-type": "nonsense" },
  ])("rejects the body %j with 415", async (headers) => {
    const answer = await edges.testEdge().send("POST", "/api/sessions", { headers, payload: "{}" });
    expectProblem(answer, 415, "media_type_unsupported");
  });

  it("rejects a body beyond 64 KiB with 413", async () => {
    const { send } = edges.testEdge();
    const fits = `{"x":"${"a".repeat(64 * 1024 - 8)}"}`;
    const post = (payload: string) => send("POST", "/api/sessions", { headers: JSON_TYPE, payload });
    expect((await post(fits)).statusCode).toBe(200);
    expectProblem(await post(`${fits} `), 413, "body_too_large");
    // The size is checked first: an oversized body is not parsed.
    expectProblem(await post("{".repeat(70_000)), 413, "body_too_large");
  });

  it("accepts a chat of 256 KiB, and rejects a longer one with 413", async () => {
    const { send } = edges.testEdge();
    const fits = `{"message":"a"${" ".repeat(256 * 1024 - 15)}}`;
    const post = (payload: string) => send("POST", "/api/chat", { headers: JSON_TYPE, payload });
    expect((await post(fits)).statusCode).toBe(200);
    expectProblem(await post(`${fits} `), 413, "body_too_large");
  });

  it("limits new sessions to 120 a minute per address beyond a loopback bind", async () => {
    const edge = edges.testEdge({ loopback: false });
    const create = (session: string, remoteAddress: string) =>
      edge.send("POST", "/api/sessions", { remoteAddress, headers: { "x-session-id": session } });
    const ids = Array.from({ length: 120 }, () => randomUUID());
    for (const id of ids) expect((await create(id, "192.0.2.1")).statusCode).toBe(200);
    const refused = await create(edge.session, "192.0.2.1");
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers["retry-after"]).toBe("60");
    expect((await create(ids[3]!, "192.0.2.1")).statusCode).toBe(200);
    expect((await create(randomUUID(), "192.0.2.2")).statusCode).toBe(200);
    await edges.pass(60_000);
    expect((await create(edge.session, "192.0.2.1")).statusCode).toBe(200);
  });

  it("limits new sessions on a loopback bind only behind a trusted proxy", async () => {
    const create = async (edge: TestEdge, client: string) => {
      const headers = { "x-session-id": randomUUID(), "x-forwarded-for": client };
      return (await edge.send("POST", "/api/sessions", { headers })).statusCode;
    };
    const rateLimits = { newSessionsPerMinute: 20 };
    const behind = edges.testEdge({ trustedProxies: ["127.0.0.1"], rateLimits });
    const alone = edges.testEdge({ rateLimits });
    for (let index = 0; index < 20; index += 1) {
      expect(await create(behind, "192.0.2.1")).toBe(200);
      expect(await create(alone, "192.0.2.1")).toBe(200);
    }
    expect(await create(behind, "192.0.2.1")).toBe(429);
    expect(await create(behind, "192.0.2.2")).toBe(200);
    expect(await create(alone, "192.0.2.1")).toBe(200);
  });

  it("trusts X-Forwarded-For from trusted proxies only", async () => {
    const rateLimits = { newSessionsPerMinute: 1 };
    const edge = edges.testEdge({ loopback: false, trustedProxies: ["10.0.0.0/8"], rateLimits });
    const create = async (remoteAddress: string, client: string) => {
      const headers = { "x-session-id": randomUUID(), "x-forwarded-for": client };
      return (await edge.send("POST", "/api/sessions", { remoteAddress, headers })).statusCode;
    };
    expect(await create("10.1.2.3", "192.0.2.1")).toBe(200);
    expect(await create("10.1.2.3", "192.0.2.2")).toBe(200);
    expect(await create("10.9.9.9", "192.0.2.1")).toBe(429);
    expect(await create("203.0.113.5", "192.0.2.3")).toBe(200);
    expect(await create("203.0.113.5", "192.0.2.4")).toBe(429);
  });
});
