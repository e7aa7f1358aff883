import { describe, expect, it } from "vitest";
import { SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

describe("GET /api/state", () => {
  itNeedsASessionId({ method: "GET", url: "/api/state" });

  it.each([
    [1, "hi"],
    [3, "grüezi 😀"],
    [1, "ü".repeat(20_000)],
    [7, "😀".repeat(10_000)],
  ])("returns a snapshot in %d parts, short or long", async (parts, message) => {
    const edge = testEdge();
    edge.services.conversations.parts = parts;
    await edge.send("POST", "/api/chat", { payload: { message } });
    const answer = await edge.send("GET", "/api/state");
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(answer.body)),
      "cache-control": "no-store",
    });
    expect(answer.json()).toMatchObject({ session_id: SESSION, messages: [{ content: message }] });
    expect((await edge.send("GET", "/api/state")).body).toBe(answer.body);
  });

  it("passes on the version read during authorization, so that it is not read twice", async () => {
    const edge = testEdge();
    const { conversations } = edge.services;
    const seen = { id: SESSION, incarnation: "a", app: null, head: 7, epoch: 1, streamed: null };
    conversations.appOf = async () => ({ app: "default", seen });
    await edge.send("GET", "/api/state");
    expect(conversations.last.state).toMatchObject({ seen });
    conversations.appOf = () => "default";
    await edge.send("GET", "/api/state");
    expect(conversations.last.state).toMatchObject({ seen: null });
  });

  it("has an ETag, and gives 304 to a client that has this snapshot", async () => {
    const edge = testEdge();
    const first = await edge.send("GET", "/api/state");
    const tag = String(first.headers["etag"]);
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
      const answer = await edge.send("GET", "/api/state", { headers: { "if-none-match": known } });
      expect(answer.statusCode).toBe(304);
      expect(answer.body).toBe("");
      expect(answer.headers).toMatchObject({ etag: tag, "cache-control": "no-store" });
    }
    await edge.send("POST", "/api/chat?message=hi");
    const changed = await edge.send("GET", "/api/state", { headers: { "if-none-match": tag } });
    expect(changed.statusCode).toBe(200);
    expect(changed.headers["etag"]).not.toBe(tag);
  });

  it("responds to HEAD without the body", async () => {
    const edge = testEdge();
    const get = await edge.send("GET", "/api/state");
    const head = await edge.send("HEAD", "/api/state");
    expect(head.statusCode).toBe(200);
    expect(head.body).toBe("");
    expect(head.headers).toMatchObject({
      etag: get.headers["etag"],
      "content-length": get.headers["content-length"],
    });
  });

  it("passes on user state and the maximum wait", async () => {
    const edge = testEdge();
    const query = new URLSearchParams({ user_state: '{"evm":{"chain_id":1}}', client_id: "web-7" });
    const answer = await edge.send("GET", `/api/state?${query.toString()}`, {
      headers: { prefer: "respond-async, wait=90" },
    });
    expect(edge.services.conversations.last.state).toMatchObject({
      sessionId: SESSION,
      userState: { evm: { chain_id: 1 } },
      waitMs: 60_000,
    });
    expect(answer.headers["preference-applied"]).toBe("wait=60");
  });

  it("treats the user state null, which a snapshot may have, as absent", async () => {
    const edge = testEdge();
    const { user_state } = (await edge.send("GET", "/api/state")).json<{ user_state: unknown }>();
    const query = new URLSearchParams({ user_state: JSON.stringify(user_state) });
    expect((await edge.send("GET", `/api/state?${query.toString()}`)).statusCode).toBe(200);
    expect(edge.services.conversations.last.state).toMatchObject({ userState: null, admitChange: null });
  });

  it.each([
    ["user_state=%7B", "parameter_invalid"],
    ["user_state=[1]", "parameter_invalid"],
    ["user_state=%7B%7D&user_state=%7B%7D", "parameter_repeated"],
    ["client_id=%0A", "parameter_invalid"],
    ["x=%ff", "url_encoding_invalid"],
    ["x=%00", "text_invalid"],
  ])("rejects ?%s", async (query, code) => {
    const edge = testEdge();
    expectProblem(await edge.send("GET", `/api/state?${query}`), 400, code);
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("turns synchronous and asynchronous errors of the service into problems", async () => {
    const edge = testEdge();
    edge.services.conversations.state = () => {
      throw new Error("secret of the house");
    };
    const atOnce = await edge.send("GET", "/api/state");
    expectProblem(atOnce, 500, "internal_error");
    edge.services.conversations.state = () => Promise.reject(new Error("secret of the house"));
    const later = await edge.send("GET", "/api/state");
    expectProblem(later, 500, "internal_error");
    expect(atOnce.body + later.body).not.toContain("secret");
  });
});
