import { describe, expect, it } from "vitest";
import { createSession, startEdges } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const edges = await startEdges();

describe("GET /api/state", () => {
  it.each(["hi", "grüezi 😀", "ü".repeat(20_000), "😀".repeat(10_000)])(
    "returns a snapshot with its length in bytes, short or long",
    async (message) => {
      const edge = edges.testEdge();
      await edge.send("POST", "/api/chat", { payload: { message } });
      const answer = await edge.send("GET", "/api/state", { headers: { prefer: "wait=9" } });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({
        "content-type": "application/json; charset=utf-8",
        "content-length": String(Buffer.byteLength(answer.body)),
        "cache-control": "no-store",
      });
      expect(answer.json()).toMatchObject({ session_id: edge.session, messages: [{ content: message }, {}] });
    },
  );

  it("limits the wait to a minute", async () => {
    const edge = edges.testEdge();
    const headers = { prefer: "respond-async, wait=90" };
    const answer = await edge.send("GET", "/api/state", { headers });
    expect(answer.headers["preference-applied"]).toBe("wait=60");
  });

  it("treats the user state null, which a snapshot may have, as absent", async () => {
    const edge = edges.testEdge();
    await createSession(edges, edge.session);
    const { user_state } = (await edge.send("GET", "/api/state")).json<{ user_state: unknown }>();
    const query = new URLSearchParams({ user_state: JSON.stringify(user_state) });
    expect((await edge.send("GET", `/api/state?${query.toString()}`)).json()).toMatchObject({ user_state });
  });

  it.each([
    ["user_state=%7B", "parameter_invalid"],
    ["user_state=%7B%7D&user_state=%7B%7D", "parameter_repeated"],
    ["x=%ff", "url_encoding_invalid"],
    ["x=%00", "text_invalid"],
  ])("names what is wrong with ?%s", async (query, code) => {
    const edge = edges.testEdge();
    expectProblem(await edge.send("GET", `/api/state?${query}`), 400, code);
    expect(await edges.exists(edge.session)).toBe(false);
  });

  it("turns synchronous and asynchronous errors of the service into problems", async () => {
    const edge = edges.testEdge();
    await createSession(edges, edge.session);
    const failing = Object.create(edge.services.conversations) as typeof edge.services.conversations;
    Object.assign(edge.services, { conversations: failing });
    failing.appOf = () => "default";
    failing.state = () => {
      throw new Error("secret of the house");
    };
    const atOnce = await edge.send("GET", "/api/state");
    expectProblem(atOnce, 500, "internal_error");
    failing.state = () => Promise.reject(new Error("secret of the house"));
    const later = await edge.send("GET", "/api/state");
    expectProblem(later, 500, "internal_error");
    expect(atOnce.body + later.body).not.toContain("secret");
  });
});
