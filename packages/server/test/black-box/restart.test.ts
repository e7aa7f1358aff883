// State that survives a restart of the service (specification, "What the service does", 5). Starts the
// program itself.

import { afterEach, describe, expect, it } from "vitest";
import { chat, newSession, newWallet, send, whenIdle, state, thread } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { Program } from "./server.ts";

const programs: Program[] = [];
afterEach(async () => {
  for (const program of programs.splice(0)) await program.remove();
});

async function started(): Promise<Program> {
  const program = await Program.start();
  programs.push(program);
  return program;
}

const COUNTED = [1, 21, 41].map((from) => Array.from({ length: 20 }, (_, index) => from + index).join(" "));

describe("an answer of the demo model in steps", () => {
  it("keeps the numbers of finished steps after SIGKILL, without gaps or repetitions", async () => {
    const program = await started();
    const session = newSession();
    await chat(program.url, session, "count to 60");
    const answer = async () => (await state(program.url, session)).messages[1]?.content ?? "";
    await expect.poll(answer).toMatch(/\b2[3-9]\b/);
    await program.stop("SIGKILL");
    await program.run();
    expect(await answer()).toMatch(new RegExp(`^${COUNTED[0]}`));
    const { messages } = await whenIdle(program.url, session);
    expect(messages[1]?.content).toBe(COUNTED.join("\n\n"));
    expect(messages[1]?.tool_calls).toMatchObject(
      [21, 41].map((next) => ({ name: "continue_counting", arguments: { next }, status: "complete" })),
    );
  });
});

describe.each(["SIGTERM", "SIGKILL"] as const)("after %s and a restart", (signal) => {
  it("keeps a session unchanged, byte for byte", async () => {
    const program = await started();
    const session = newSession();
    const wallet = newWallet();
    await send(program.url, "POST", "/api/sessions", { session, json: { public_key: wallet } });
    await chat(program.url, session, "what is 12 * 7?");
    await whenIdle(program.url, session);
    await expect.poll(async () => (await thread(program.url, session)).title).not.toBe("New Chat");
    const before = await send(program.url, "GET", "/api/state", { session });
    await program.stop(signal);
    await program.run();
    const after = await send(program.url, "GET", "/api/state", { session });
    expect(after.text).toBe(before.text);
    expect(after.headers.etag).toBe(before.headers.etag);
    const list = await send(program.url, "GET", `/api/sessions?public_key=${wallet}`, { session });
    expect(list.json()).toMatchObject([{ session_id: session }]);
  });

  it("answers an accepted message, and resumes a stream", async () => {
    const program = await started();
    const session = newSession();
    const reader = await EventReader.connect(program.url, session, { include: "messages" });
    await chat(program.url, session, "count to 5");
    const accepted = await chat(program.url, session, "what is 2 + 2?");
    await reader.find(({ type }) => type === "message_created");
    // Resume after the first event: if the turn is over, no event follows the last one.
    const seen = reader.events.find(({ id }) => id !== null)!.id!;
    await program.stop(signal);
    reader.leave();
    await program.run();
    const done = await whenIdle(program.url, session);
    expect(done.messages.map(({ id }) => id)).toEqual(
      expect.arrayContaining(accepted.messages.map(({ id }) => id)),
    );
    expect(done.messages.map(({ sender, status }) => `${sender} ${status}`)).toEqual([
      "user complete",
      "agent complete",
      "user complete",
      "agent complete",
    ]);
    expect(done.messages[1]?.content).toBe("1 2 3 4 5");
    const resumed = await EventReader.connect(program.url, session, {
      include: "messages",
      lastEventId: seen,
    });
    // Not for the last id: it is of an event that this stream leaves out, so it comes with a heartbeat, every 15 s.
    const answer = done.messages.at(-1)?.id;
    await resumed.find((event) => event.type === "message_completed" && event.message.id === answer);
    const [first] = resumed.events.filter(({ id }) => id !== null);
    expect(Number(first?.id?.split("-")[1])).toBeGreaterThan(Number(seen.split("-")[1]));
    resumed.leave();
  });
});
