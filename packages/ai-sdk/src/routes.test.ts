// Rate limits of the endpoints; test/black-box has everything else.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type EdgeChanges, startEdges } from "../../server/src/http/testing/edge.ts";
import { expectProblem } from "../../server/src/http/testing/expect-problem.ts";

const edges = await startEdges();

const MESSAGE = { id: randomUUID(), role: "user", parts: [{ type: "text", text: "hello" }] };

/** A public service whose streams end at once. */
function publicEdge(rateLimits: EdgeChanges["rateLimits"]) {
  const edge = edges.testEdge({ loopback: false, rateLimits: rateLimits! });
  const post = (message: object, more: object = {}) =>
    edge.send("POST", "/api/ai-sdk/chat", {
      payload: { id: edge.session, messages: [message], trigger: "submit-message", ...more },
    });
  return { ...edge, post };
}

describe("the endpoints for the AI SDK", () => {
  it("count a message as a chat, together with the native endpoint, and as no other change", async () => {
    const edge = publicEdge({ chatsPerMinute: 2, writesPerMinute: 1 });
    expect((await edge.post(MESSAGE)).statusCode).toBe(200);
    expect((await edge.send("POST", "/api/chat?message=hello")).statusCode).toBe(200);
    expectProblem(await edge.post(MESSAGE), 429, "rate_limited");
  });

  it("check access and limits before they read client tools", async () => {
    const edge = publicEdge({ chatsPerMinute: 1 });
    const client_tools = { "a b": { inputSchema: "none" } };
    expectProblem(await edge.post(MESSAGE, { client_tools, app: "other" }), 401, "app_key_invalid");
    expect((await edge.post(MESSAGE, { client_tools })).statusCode).toBe(400);
    expectProblem(await edge.post(MESSAGE, { client_tools }), 429, "rate_limited");
  });

  it("count an answer to calls as a change of the session", async () => {
    const edge = publicEdge({ sessionWritesPerMinute: 1, chatsPerMinute: 1 });
    await edge.post(MESSAGE);
    const answer = { ...MESSAGE, id: randomUUID(), role: "assistant" };
    expectProblem(await edge.post(answer), 404, "message_not_found");
    expectProblem(await edge.post(answer), 429, "rate_limited");
  });

  it("count reads of a session in the path", async () => {
    const edge = publicEdge({ sessionReadsPerMinute: 2 });
    const path = "/api/ai-sdk/chat/{id}";
    expect((await edge.send("GET", `${path}/messages`, { headers: {} })).statusCode).toBe(200);
    expect((await edge.send("GET", `${path}/stream`)).statusCode).toBe(204);
    expectProblem(await edge.send("GET", `${path}/messages`), 429, "rate_limited");
  });

  it("count each stream while it is open", async () => {
    const edge = publicEdge({ streamsPerAddress: 1 });
    for (let count = 0; count < 3; count += 1) expect((await edge.post(MESSAGE)).statusCode).toBe(200);
  });
});
