// `GET /api/ai-sdk/chat/{id}/stream` and `GET /api/ai-sdk/chat/{id}/messages`.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bodyOf, chat, messagesOf, openChat, resume, textOf, userMessage } from "./ai-sdk-client.ts";
import { expectProblem, newSession, send, state } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("GET /api/ai-sdk/chat/{id}/stream", () => {
  it("replays the answer in progress from its start, and continues it", async () => {
    const session = newSession();
    const first = await openChat(url(), bodyOf(session, [userMessage("count to 100")]));
    await first.until((chunk) => chunk.type === "text-delta" && chunk.delta.includes("3"));
    const second = await resume(url(), session.toUpperCase());
    await Promise.all([first.ended, second?.ended]);
    expect(second?.chunks.slice(0, 3)).toEqual([
      first.chunks[0],
      { type: "start-step" },
      { type: "text-start", id: "text-0" },
    ]);
    expect(await second?.message()).toEqual(await first.message());
  });

  it("answers 204 for a session that is idle or does not exist, and creates none", async () => {
    const session = newSession();
    expect(await resume(url(), session)).toBeNull();
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    await chat(url(), bodyOf(session, [userMessage("hello")]));
    expect(await resume(url(), session)).toBeNull();
  });

  it("follows a message that waits for its turn", async () => {
    const session = newSession();
    const [first, second] = [userMessage("count to 5"), userMessage("what is 2 + 2?")];
    const running = await openChat(url(), bodyOf(session, [first]));
    const waiting = await openChat(url(), bodyOf(session, [second]));
    await running.ended;
    const replay = await resume(url(), session);
    await Promise.all([waiting.ended, replay?.ended]);
    expect(textOf(await waiting.message())).toContain("4");
  });

  it("reports that the session was deleted", async () => {
    const session = newSession();
    const stream = await openChat(url(), bodyOf(session, [userMessage("count to 500")]));
    await stream.until(({ type }) => type === "text-delta");
    await send(url(), "DELETE", `/api/sessions/${session}`);
    await stream.ended;
    expect(stream.chunks.at(-1)).toEqual({ type: "error", errorText: "This conversation was deleted." });
  });

  it("rejects an id that is no UUID with 400", async () => {
    const answer = await send(url(), "GET", "/api/ai-sdk/chat/chat-1/stream");
    expect(expectProblem(answer, 400, "parameter_invalid")).toContain("generateId");
  });
});

describe("GET /api/ai-sdk/chat/{id}/messages", () => {
  it("returns the messages in the client's format", async () => {
    const session = newSession();
    const sent = userMessage("what is 12 * 7?");
    const answer = await (await chat(url(), bodyOf(session, [sent]))).message();
    const [first, second] = await messagesOf(url(), session);
    expect(first).toEqual({ ...sent, parts: [{ ...sent.parts[0], state: "done" }] });
    expect(second).toEqual(JSON.parse(JSON.stringify(answer)));
  });

  it("omits the answer in progress", async () => {
    const session = newSession();
    const sent = userMessage("count to 500");
    const stream = await openChat(url(), bodyOf(session, [sent]));
    await stream.until(({ type }) => type === "text-delta");
    expect((await messagesOf(url(), session)).map(({ id }) => id)).toEqual([sent.id]);
    await send(url(), "POST", "/api/interrupt", { session });
    await stream.ended;
    const [, answer] = await messagesOf(url(), session);
    expect(textOf(answer)).toBe((await state(url(), session)).messages[1]?.content);
  });

  it("is empty for a session that does not exist, and creates none", async () => {
    const session = randomUUID();
    expect(await messagesOf(url(), session)).toEqual([]);
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    expectProblem(await send(url(), "GET", "/api/ai-sdk/chat/x/messages"), 400, "parameter_invalid");
  });
});
