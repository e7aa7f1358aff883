// Kills the process in the middle of a run, and connects to the thread on the next process.

import { afterEach, describe, expect, it } from "vitest";
import { startProgramWithProvider } from "../held-provider.ts";
import { agentOf } from "./ag-ui-agent.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

describe("a process that is killed in the middle of a run", () => {
  it.each([
    ["the same text", "one two"],
    ["another text", "six"],
  ])("is replaced by one to which the agent connects, if the step returns %s", async (_what, repeated) => {
    const { provider, program } = await startProgramWithProvider(cleanups);
    const { agent, say } = agentOf(`${program.url}/api/ag-ui`);
    const run = say("count").then(
      () => "finished",
      () => "broken",
    );
    (await provider.next()).say("one two");
    await expect.poll(() => agent.messages.length).toBe(2);
    await program.stop("SIGKILL");
    expect(await run).toBe("broken");
    await program.run();
    agent.url = `${program.url}/api/ag-ui`;
    const connected = agent.connectAgent();
    const call = await provider.next();
    call.say(repeated);
    await expect
      .poll(() => agent.messages.at(-1))
      .toMatchObject({ content: expect.stringContaining(repeated) });
    call.say(" three");
    call.finish();
    await connected;
    expect(agent.messages).toMatchObject([{ content: "count" }, { content: `${repeated} three` }]);
    const late = agentOf(`${program.url}/api/ag-ui`, { threadId: agent.threadId });
    await late.agent.connectAgent();
    expect(late.agent.messages).toEqual(agent.messages);
  });
});
