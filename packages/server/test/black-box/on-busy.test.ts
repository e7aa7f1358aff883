// `onBusy` settings other than the queue. Starts the program itself.

import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, send, whenIdle, state } from "./client.ts";
import { useService } from "./server.ts";

const config = (onBusy: string) => ({ apps: { default: { models: ["demo/assistant"], onBusy } } });

describe('onBusy "reject"', () => {
  const url = useService(config("reject"));

  it("rejects a chat with 409 while the session is processing, and accepts it afterwards", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    expectProblem(await send(url(), "POST", "/api/chat?message=hello", { session }), 409);
    const [first] = (await state(url(), session)).messages;
    const json = { message: "hello", replaces: first?.id };
    expectProblem(await send(url(), "POST", "/api/chat", { session, json }), 409, "session_busy");
    // The answer appears as soon as it has started.
    expect((await state(url(), session)).messages.length).toBeLessThanOrEqual(2);
    await send(url(), "POST", "/api/interrupt", { session });
    expect((await chat(url(), session, "hello")).messages).toHaveLength(3);
  });
});

describe('onBusy "interrupt"', () => {
  const url = useService(config("interrupt"));

  it("stops the answer in progress and answers the new message", async () => {
    const session = newSession();
    await chat(url(), session, "count to 500");
    await expect.poll(async () => (await state(url(), session)).messages[1]?.content).toContain("2");
    const taken = await chat(url(), session, "what is 2 + 2?");
    expect(taken.is_processing).toBe(true);
    expect(taken.messages[1]?.status).toBe("interrupted");
    const done = await whenIdle(url(), session);
    expect(done.messages.map(({ sender, status }) => `${sender} ${status}`)).toEqual([
      "user complete",
      "agent interrupted",
      "user complete",
      "agent complete",
    ]);
    expect(done.messages[3]?.content).toContain("4");
  });
});
