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

describe('onBusy "steer"', () => {
  const url = useService(config("steer"));

  it("lets the turn in progress read the message, and says so in the App's descriptor", async () => {
    const session = newSession();
    await chat(url(), session, "count to 300");
    await expect.poll(async () => (await state(url(), session)).messages[1]?.content).toContain("2");
    const taken = await chat(url(), session, "what is 2 + 2?");
    expect(taken.messages[2]).toMatchObject({ status: "queued", steering: { status: "pending" } });
    const done = await whenIdle(url(), session);
    expect(done.messages.map(({ sender, status, turn }) => `${turn} ${sender} ${status}`)).toEqual([
      "1 user complete",
      "1 agent complete",
      "1 user complete",
      "1 agent complete",
    ]);
    expect(done.messages[2]?.steering).toEqual({ status: "read", step: expect.any(Number) });
    expect(done.messages[3]?.content).toContain("4");
    const apps = await send(url(), "GET", "/api/control/apps", { session });
    expect(await apps.json()).toMatchObject([{ name: "default", on_busy: "steer" }]);
  });
});

describe("the parameter `busy`", () => {
  const url = useService(config("enqueue"));
  const refusing = useService(config("reject"));
  const steering = useService(config("steer"));

  it("steers in an App that queues, from the query or the body", async () => {
    const session = newSession();
    await chat(url(), session, "count to 300");
    await expect.poll(async () => (await state(url(), session)).messages[1]?.content).toContain("2");
    await Promise.all([
      send(url(), "POST", "/api/chat?message=hello&busy=steer", { session }),
      send(url(), "POST", "/api/chat", { session, json: { message: "cite a source", busy: "steer" } }),
    ]);
    const done = await whenIdle(url(), session);
    expect(done.messages.flatMap(({ steering: one }) => one?.status ?? [])).toEqual(["read", "read"]);
  });

  it("queues in an App that steers", async () => {
    const session = newSession();
    await chat(steering(), session, "count to 300");
    await send(steering(), "POST", "/api/chat?message=hello&busy=enqueue", { session });
    const { messages } = await state(steering(), session);
    expect(messages.at(-1)).toMatchObject({ status: "queued", turn: 2 });
    expect(messages.at(-1)?.steering).toBeUndefined();
    await send(steering(), "POST", "/api/interrupt", { session });
  });

  it("does not change an App that rejects", async () => {
    const session = newSession();
    await chat(refusing(), session, "count to 300");
    for (const busy of ["steer", "enqueue"])
      expectProblem(
        await send(refusing(), "POST", `/api/chat?message=hello&busy=${busy}`, { session }),
        409,
        "session_busy",
      );
    await send(refusing(), "POST", "/api/interrupt", { session });
  });

  it("is refused with another value", async () => {
    const session = newSession();
    expectProblem(await send(url(), "POST", "/api/chat?message=hello&busy=interrupt", { session }), 400);
  });
});
