import { describe, expect, it } from "vitest";
import { NotFound } from "@colloquy/engine/internal/core/errors";
import { createSession, startEdges } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const MESSAGES = "/api/sessions/{id}/messages";
const edges = await startEdges();

async function edgeWithMessages() {
  const edge = edges.testEdge();
  await createSession(edges, edge.session, "default");
  return edge;
}

describe("GET /api/sessions/{id}/messages", () => {
  it("gives 404 if the session is deleted before its first message is read", async () => {
    const edge = await edgeWithMessages();
    edges.intercept((method) => {
      if (method !== "sessions.messages") return undefined;
      throw new NotFound("session_not_found", "There is no such session.");
    });
    expectProblem(await edge.send("GET", MESSAGES), 404, "session_not_found");
  });

  it("responds to HEAD without a body and without reading messages", async () => {
    const edge = await edgeWithMessages();
    let reads = 0;
    edges.intercept((method) => {
      if (method === "sessions.messages") reads += 1;
      return undefined;
    });
    const head = await edge.send("HEAD", MESSAGES);
    expect([head.statusCode, head.body, head.headers["content-length"], reads]).toEqual([
      200,
      "",
      undefined,
      0,
    ]);
    const get = await edge.send("GET", MESSAGES);
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
    expect(get.json<unknown[]>()).toHaveLength(2);
    expect(reads).toBeGreaterThan(0);
  });
});
