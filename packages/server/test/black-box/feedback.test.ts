// Feedback on answers. `npm run test:nodes` also runs this file against three nodes.

import { AdminFeedbackPage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { useAdminService } from "./admin-service.ts";
import { expectProblem, newSession, send, state, thread } from "./client.ts";
import { EventReader } from "./event-reader.ts";

const service = useAdminService();
const give = (session: string, message: string, json: unknown) =>
  send(service().url, "PUT", `/api/sessions/${session}/messages/${message}/feedback`, { json });

async function answered() {
  const session = await service().say("hello", "default", 20);
  const { messages } = await state(service().url, session);
  const [question = "", answer = ""] = messages.map(({ id }) => id);
  return { session, question, answer };
}

describe("PUT /api/sessions/{id}/messages/{message_id}/feedback", () => {
  it("stores, replaces and removes feedback in snapshot, records and streams, without counting as activity", async () => {
    const { session, answer } = await answered();
    const { updated_at } = await thread(service().url, session);
    const reader = await EventReader.connect(service().url, session, { include: "messages" });
    const given = await give(session, answer, {
      score: -1,
      comment: " The fee is missing. ",
      tags: ["short"],
    });
    const feedback = {
      score: -1,
      comment: "The fee is missing.",
      tags: ["short"],
      created_at: expect.any(String),
    };
    expect(given.json()).toEqual({ feedback });
    expect((await state(service().url, session)).messages[1]).toMatchObject({ feedback });
    const records = await send(service().url, "GET", `/api/sessions/${session}/messages`);
    expect((records.json() as unknown[])[1]).toMatchObject({ feedback });
    const { event } = await reader.find(({ type }) => type === "message_updated");
    expect(event).toMatchObject({ message: { id: answer, feedback } });
    reader.leave();
    expect((await thread(service().url, session)).updated_at).toBe(updated_at);
    const replaced = await give(session, answer.toUpperCase(), { score: 1 });
    expect(replaced.json()).toEqual({ feedback: { score: 1, created_at: expect.any(String) } });
    expect((await give(session, answer, { score: 0, comment: "", tags: [] })).json()).toEqual({
      feedback: null,
    });
    expect((await state(service().url, session)).messages[1]).not.toHaveProperty("feedback");
  });

  it("rejects user messages, unknown messages and invalid bodies", async () => {
    const { session, question, answer } = await answered();
    expectProblem(await give(session, question, { score: 1 }), 400, "not_an_answer");
    expectProblem(await give(session, newSession(), { score: 1 }), 404, "message_not_found");
    expectProblem(await give(newSession(), answer, { score: 1 }), 404, "session_not_found");
    const long = "x".repeat(4_001);
    for (const body of [
      {},
      { score: 2 },
      { score: "1" },
      { score: 1, comment: long },
      { score: 1, tags: [" "] },
    ])
      expectProblem(await give(session, answer, body), 400);
  });

  it("rejects feedback on an answer in progress", async () => {
    const session = await service().say("count to 500");
    const { url } = service();
    let answer = "";
    // Read a single snapshot: other nodes show an answer without text up to 250 ms later.
    await expect.poll(async () => (answer = (await state(url, session)).messages[1]?.id ?? "")).not.toBe("");
    expectProblem(await give(session, answer, { score: 1 }), 409, "answer_in_progress");
    await send(url, "POST", "/api/interrupt", { session });
    expect((await give(session, answer, { score: 1 })).status).toBe(200);
  });
});

describe("GET /api/admin/feedback", () => {
  it("lists feedback with filters, in pages, and as CSV with escaped formulas", async () => {
    const [one, two] = [await answered(), await answered()];
    const from = new Date().toISOString();
    await give(one.session, one.answer, {
      score: -1,
      comment: '=HYPERLINK("é")\nmore',
      tags: ["a", "b"],
    });
    await give(two.session, two.answer, { score: 1 });
    const list = async (query: string) => {
      const answer = await service().admin("GET", `feedback?from=${from}&${query}`);
      expect(answer.status).toBe(200);
      return answer.as(AdminFeedbackPage);
    };
    const { feedback } = await list("");
    expect(feedback.map(({ message_id }) => message_id)).toEqual([two.answer, one.answer]);
    expect(feedback[1]).toMatchObject({ session_id: one.session, app: "default", turn: 1, score: -1 });
    expect((await list("score=-1")).feedback).toEqual([feedback[1]]);
    expect((await list("app=asking")).feedback).toEqual([]);
    const first = await list("limit=1");
    expect(first.feedback).toEqual([feedback[0]]);
    expect(await list(`limit=1&cursor=${first.next_cursor}`)).toEqual({
      feedback: [feedback[1]],
      next_cursor: null,
    });
    const csv = await service().admin("GET", `feedback?from=${from}&format=csv&limit=1&score=-1`);
    expect(csv.headers["content-type"]).toBe("text/csv; charset=utf-8");
    // chatwoot/chatwoot#15335, TEAMMATES/teammates#1062, cfpb/consumerfinance.gov#5292
    expect(csv.text.split("\r\n")).toEqual([
      "\uFEFFcreated_at,app,session_id,message_id,turn,score,comment,tags",
      `${feedback[1]?.created_at},default,${one.session},${one.answer},1,-1,"'=HYPERLINK(""é"")\nmore","a, b"`,
      "",
    ]);
    expectProblem(await service().admin("GET", "feedback?cursor=no"), 400, "invalid_cursor");
  });
});
