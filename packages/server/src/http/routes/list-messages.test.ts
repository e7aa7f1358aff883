import { describe, expect, it } from "vitest";
import { NotFound } from "../../core/errors.ts";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const MESSAGES = `/api/sessions/${SESSION}/messages`;

async function edgeWithMessages(...texts: string[]) {
  const edge = testEdge();
  for (const message of texts) await edge.send("POST", "/api/chat", { payload: { message } });
  return edge;
}

describe("GET /api/sessions/{id}/messages", () => {
  it("returns the persisted records", async () => {
    const edge = await edgeWithMessages("a", "b");
    const answer = await edge.app.inject({ method: "GET", url: MESSAGES });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject([
      { session_id: SESSION, thread_id: SESSION, role: "user", content: "a", tool_calls: null },
      { content: "b" },
    ]);
  });

  it("continues after a message, with a limit", async () => {
    const edge = await edgeWithMessages("a", "b", "c");
    const [first] = (await edge.send("GET", `${MESSAGES}?limit=1`)).json<{ id: string; content: string }[]>();
    const rest = await edge.send("GET", `${MESSAGES}?after=${first?.id}&limit=1`);
    expect(rest.json()).toMatchObject([{ content: "b" }]);
  });

  it.each([
    ["after=x", "parameter_invalid"],
    ["limit=0", "parameter_invalid"],
    ["limit=1001", "parameter_invalid"],
    ["limit=one", "parameter_invalid"],
    ["include=tools", "parameter_invalid"],
    ["limit=1&limit=1", "parameter_repeated"],
  ])("rejects ?%s", async (query, code) => {
    const edge = await edgeWithMessages("a");
    expectProblem(await edge.send("GET", `${MESSAGES}?${query}`), 400, code);
  });

  it("gives 404 if the session is deleted before its first message is read", async () => {
    const edge = await edgeWithMessages("a");
    const { conversations } = edge.services;
    const messages = conversations.messages.bind(conversations);
    conversations.messages = async (...asked) => ({
      ...(await messages(...asked)),
      read: () => Promise.reject(new NotFound("session_not_found", "There is no such session.")),
    });
    expectProblem(await edge.send("GET", MESSAGES), 404, "session_not_found");
  });

  it("responds to HEAD without a body and without reading messages", async () => {
    const edge = await edgeWithMessages("a");
    let reads = 0;
    const { conversations } = edge.services;
    const messages = conversations.messages.bind(conversations);
    conversations.messages = async (...asked) => {
      const page = await messages(...asked);
      const read: typeof page.read = (after) => {
        reads += 1;
        return page.read(after);
      };
      return { ...page, read };
    };
    const head = await edge.app.inject({ method: "HEAD", url: MESSAGES });
    expect([head.statusCode, head.body, head.headers["content-length"], reads]).toEqual([
      200,
      "",
      undefined,
      0,
    ]);
    const get = await edge.app.inject({ method: "GET", url: MESSAGES });
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
    expect([get.json<unknown[]>().length, reads]).toEqual([1, 2]);
  });

  it("gives 404 for an unknown session and 400 for a malformed id", async () => {
    const edge = testEdge();
    expectProblem(
      await edge.send("GET", `/api/sessions/${OTHER_SESSION}/messages`),
      404,
      "session_not_found",
    );
    expectProblem(await edge.send("GET", "/api/sessions/x/messages"), 400, "parameter_invalid");
  });
});
