import { describe, expect, it } from "vitest";
import { SESSION, testEdge, type TestEdge, WALLET } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe("POST /api/sessions", () => {
  itNeedsASessionId({ method: "POST", url: "/api/sessions" });

  it("returns the thread", async () => {
    const answer = await testEdge().send("POST", "/api/sessions");
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
    });
    expect(answer.json()).toMatchObject({ session_id: SESSION, title: "New Chat", app: "default" });
  });

  it.each([
    ["no body and no type", {}, undefined],
    ["an empty body of a JSON type", JSON_TYPE, ""],
    ["an empty body of any type", { "content-type": "application/x-www-form-urlencoded" }, ""],
    ["{}", JSON_TYPE, "{}"],
    ["{} without a type", {}, "{}"],
    ["a null wallet", JSON_TYPE, '{"public_key":null}'],
    ["an empty wallet", JSON_TYPE, '{"public_key":""}'],
    ["unknown fields", JSON_TYPE, '{"colour":"red"}'],
  ])("accepts %s", async (_name, headers, payload) => {
    const edge = testEdge();
    const answer = await edge.send("POST", "/api/sessions", {
      headers,
      ...(payload !== undefined && { payload }),
    });
    expect(answer.statusCode).toBe(200);
    expect(edge.services.conversations.sessions.get(SESSION)?.publicKey).toBeNull();
  });

  it("passes on the wallet, a 0x address in lower case", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions", {
      payload: { public_key: WALLET.toUpperCase().replace("0X", "0x") },
    });
    expect(edge.services.conversations.sessions.get(SESSION)?.publicKey).toBe(WALLET);
  });

  it.each([
    ['{"public_key":"a b"}', "parameter_invalid"],
    [`{"public_key":"${"k".repeat(129)}"}`, "parameter_invalid"],
    ['{"public_key":7}', "parameter_invalid"],
    ['{"public_key":["a"]}', "parameter_invalid"],
    ["[]", "body_invalid"],
    ['"text"', "body_invalid"],
    ["{", "json_invalid"],
    [String.raw`{"public_key":"a\u0000"}`, "text_invalid"],
    [String.raw`{"x\ud800":1}`, "text_invalid"],
    ["[".repeat(33) + "]".repeat(33), "json_too_deep"],
  ])("rejects the body %s", async (payload, code) => {
    const edge = testEdge();
    expectProblem(await edge.send("POST", "/api/sessions", { headers: JSON_TYPE, payload }), 400, code);
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("rejects a body that is not UTF-8", async () => {
    const payload = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expectProblem(
      await testEdge().send("POST", "/api/sessions", { headers: JSON_TYPE, payload }),
      400,
      "text_invalid",
    );
  });

  it.each([
    { "content-type": "text/plain; charset=utf-16" },
    { "content-type": "text/html" },
    { "content-type": "application/x-www-form-urlencoded" },
    { "content-type": "application/json; charset=utf-16" },
    { "content-type": "application/json", "content-encoding": "gzip" },
    { "content-type": "nonsense" },
  ])("rejects the body %j with 415", async (headers) => {
    const answer = await testEdge().send("POST", "/api/sessions", { headers, payload: "{}" });
    expectProblem(answer, 415, "media_type_unsupported");
  });

  it("rejects a body beyond 64 KiB with 413", async () => {
    const fits = `{"x":"${"a".repeat(64 * 1024 - 8)}"}`;
    const headers = JSON_TYPE;
    expect((await testEdge().send("POST", "/api/sessions", { headers, payload: fits })).statusCode).toBe(200);
    const answer = await testEdge().send("POST", "/api/sessions", { headers, payload: `${fits} ` });
    expectProblem(answer, 413, "body_too_large");
    // The size is checked first: an oversized body is not parsed.
    const broken = await testEdge().send("POST", "/api/sessions", { headers, payload: "{".repeat(70_000) });
    expectProblem(broken, 413, "body_too_large");
  });

  it("accepts a chat of 256 KiB, and rejects a longer one with 413", async () => {
    const headers = JSON_TYPE;
    const fits = `{"message":"a"${" ".repeat(256 * 1024 - 15)}}`;
    expect((await testEdge().send("POST", "/api/chat", { headers, payload: fits })).statusCode).toBe(200);
    expectProblem(
      await testEdge().send("POST", "/api/chat", { headers, payload: `${fits} ` }),
      413,
      "body_too_large",
    );
  });

  it("limits new sessions to 120 a minute per address beyond a loopback bind", async () => {
    const edge = testEdge({ loopback: false });
    const create = (index: number, address: string) =>
      edge.send("POST", "/api/sessions", {
        remoteAddress: address,
        headers: { "x-session-id": `7f8d1f0e-8a54-4c4e-9d27-${String(index).padStart(12, "0")}` },
      });
    for (let index = 0; index < 120; index += 1) {
      expect((await create(index, "192.0.2.1")).statusCode).toBe(200);
    }
    const refused = await create(120, "192.0.2.1");
    expectProblem(refused, 429, "rate_limited");
    expect(refused.headers["retry-after"]).toBe("60");
    expect((await create(3, "192.0.2.1")).statusCode).toBe(200);
    expect((await create(121, "192.0.2.2")).statusCode).toBe(200);
    edge.pass(60_000);
    expect((await create(120, "192.0.2.1")).statusCode).toBe(200);
  });

  it("limits new sessions on a loopback bind only behind a trusted proxy", async () => {
    const create = async (edge: TestEdge, index: number, client: string) => {
      const headers = {
        "x-session-id": `7f8d1f0e-8a54-4c4e-9d27-${String(index).padStart(12, "0")}`,
        "x-forwarded-for": client,
      };
      return (await edge.send("POST", "/api/sessions", { headers })).statusCode;
    };
    const rateLimits = { newSessionsPerMinute: 20 };
    const behind = testEdge({ trustedProxies: ["127.0.0.1"], rateLimits });
    const alone = testEdge({ rateLimits });
    for (let index = 0; index < 20; index += 1) {
      expect(await create(behind, index, "192.0.2.1")).toBe(200);
      expect(await create(alone, index, "192.0.2.1")).toBe(200);
    }
    expect(await create(behind, 20, "192.0.2.1")).toBe(429);
    expect(await create(behind, 21, "192.0.2.2")).toBe(200);
    expect(await create(alone, 20, "192.0.2.1")).toBe(200);
  });

  it("trusts X-Forwarded-For from trusted proxies only", async () => {
    const limits = { chatsPerMinute: 9, newSessionsPerMinute: 1, streamsPerAddress: 9 };
    const edge = testEdge({ loopback: false, trustedProxies: ["10.0.0.0/8"], rateLimits: limits });
    const create = async (index: number, proxy: string, client: string) => {
      const headers = {
        "x-session-id": `7f8d1f0e-8a54-4c4e-9d27-${String(index).padStart(12, "0")}`,
        "x-forwarded-for": client,
      };
      return (await edge.send("POST", "/api/sessions", { remoteAddress: proxy, headers })).statusCode;
    };
    expect(await create(1, "10.1.2.3", "192.0.2.1")).toBe(200);
    expect(await create(2, "10.1.2.3", "192.0.2.2")).toBe(200);
    expect(await create(3, "10.9.9.9", "192.0.2.1")).toBe(429);
    expect(await create(4, "203.0.113.5", "192.0.2.3")).toBe(200);
    expect(await create(5, "203.0.113.5", "192.0.2.4")).toBe(429);
  });
});
