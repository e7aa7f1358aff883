// Kills the process in the middle of a turn, and follows it on the next process.

import { afterEach, describe, expect, it } from "vitest";
import { startProgramWithProvider } from "../held-provider.ts";
import { AgentSession } from "./agent-session.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

describe("a process that is killed in the middle of a turn", () => {
  it.each([
    ["the same text", "one two"],
    ["another text", "six"],
  ])("is replaced by one that continues the events, if the step returns %s", async (_what, repeated) => {
    const { provider, program } = await startProgramWithProvider(cleanups);
    const session = new AgentSession(program.url);
    await session.start("count");
    const broken = session.follow().catch(() => "broken");
    (await provider.next()).say("one two");
    await expect.poll(() => session.live.size).toBe(1);
    await program.stop("SIGKILL");
    expect(await broken).toBe("broken");
    const before = [...session.events];
    await program.run();
    session.url = program.url;
    const followed = session.follow();
    const call = await provider.next();
    call.say(repeated);
    call.say(" three");
    call.finish();
    await followed;
    expect(session.events.slice(0, before.length)).toEqual(before);
    expect(session.messages).toEqual([
      ["user", "count"],
      ["agent", `${repeated} three`],
    ]);
    const late = new AgentSession(program.url, { sessionId: session.sessionId });
    await late.poll();
    expect(late.events).toEqual(session.events);
  });

  it("answers a repeat of the message with its turn", async () => {
    const { provider, program } = await startProgramWithProvider(cleanups);
    const session = new AgentSession(program.url);
    await session.start("count", {}, "a-key");
    await provider.next();
    await program.stop("SIGKILL");
    await program.run();
    session.url = program.url;
    await session.start("count", {}, "a-key");
    const followed = session.follow();
    const call = await provider.next();
    call.say("one");
    call.finish();
    await followed;
    expect(session.messages).toEqual([
      ["user", "count"],
      ["agent", "one"],
    ]);
  });
});
