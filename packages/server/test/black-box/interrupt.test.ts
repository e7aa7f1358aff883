import { describe, expect, it } from "vitest";
import { chat, expectSnapshot, newSession, send, whenIdle, state } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

async function interrupt(session: string) {
  return expectSnapshot(await send(url(), "POST", "/api/interrupt", { session }), session);
}

describe("POST /api/interrupt", () => {
  it("cancels the answer in progress and keeps its text, which never changes afterwards", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    // Long enough for "1 2 3" to be stored: a node other than the turn's owner keeps the stored text
    // (contract section 3).
    await expect.poll(async () => (await state(url(), session)).messages[1]?.content).toContain("10");
    const answer = await interrupt(session);
    expect(answer).toMatchObject({ is_processing: false, status: "interrupted" });
    expect(answer.messages[1]).toMatchObject({
      sender: "agent",
      status: "interrupted",
      content: expect.stringMatching(/^1 2 3/),
    });
    expect(answer.system_events.map(({ type }) => type)).toContain("interrupted");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await state(url(), session)).messages).toEqual(answer.messages);
  });

  it("cancels queued turns; their messages stay", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    await chat(url(), session, "what is 2 + 2?");
    const answer = await interrupt(session);
    expect(answer.system_events.at(-1)).toMatchObject({ type: "interrupted", payload: { turns: 2 } });
    expect(answer.messages.map(({ sender, status }) => `${sender} ${status}`)).toEqual([
      "user complete",
      "agent interrupted",
      "user interrupted",
    ]);
  });

  it("has no effect the second time", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    const first = await interrupt(session);
    const second = await interrupt(session);
    expect(second.messages).toEqual(first.messages);
    expect(second.status).toBe("interrupted");
    expect(second.system_events).toEqual(first.system_events);
  });

  it("leaves an idle session unchanged, and creates an unknown one", async () => {
    const session = newSession();
    expect(await interrupt(session)).toMatchObject({ messages: [], status: "idle", is_processing: false });
  });

  it("lets the session continue with the next chat", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    await interrupt(session);
    expect((await chat(url(), session, "what is 2 + 2?")).is_processing).toBe(true);
    const done = await whenIdle(url(), session);
    expect(done.status).toBe("idle");
    expect(done.messages.at(-1)).toMatchObject({ sender: "agent", status: "complete" });
    expect(done.messages.at(-1)?.content).toContain("4");
  });

  it("accepts an empty object as body", async () => {
    const answer = await send(url(), "POST", "/api/interrupt", { session: newSession(), json: {} });
    expect(answer.status).toBe(200);
  });
});
