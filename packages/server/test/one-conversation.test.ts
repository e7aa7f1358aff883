// Uses one conversation through all protocols, with `kill -9` in between. Each protocol must return the turns of all
// others.

import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import OpenAI from "openai";
import { afterEach, expect, it } from "vitest";
import { agentOf } from "./ag-ui/ag-ui-agent.ts";
import { AgentSession } from "./aomi/agent-session.ts";
import {
  bodyOf,
  chat,
  messagesOf,
  openChat,
  resume,
  textOf,
  userMessage,
} from "./black-box/ai-sdk-client.ts";
import { startProgramWithProvider } from "./held-provider.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it("returns the same conversation in AG-UI, the OpenAI API, useChat, the agent API and the native API", async () => {
  const { provider, program } = await startProgramWithProvider(cleanups);
  const id = randomUUID();
  const conversation = `conv_${id}`;
  const openai = () =>
    new OpenAI({ baseURL: `${program.url}/v1`, apiKey: "any", maxRetries: 0, logLevel: "off" });
  const native = () => createClient({ baseUrl: program.url, retries: 0 });
  const agUi = () => agentOf(`${program.url}/api/ag-ui`, { threadId: id });
  const answer = async (text: string) => {
    const call = await provider.next();
    call.say(text);
    return call;
  };
  const restart = async () => {
    await program.stop("SIGKILL");
    await program.run();
  };

  // AG-UI starts a turn. After a kill, the OpenAI API retrieves its answer.
  const begun = agUi()
    .say("one")
    .catch(() => "broken");
  await answer("first");
  await expect.poll(async () => (await native().getState(id)).messages.at(-1)?.content).toBe("first");
  await restart();
  await begun;
  (await answer("first answer")).finish();
  const response = await openai().responses.retrieve(`resp_${id}_1`);
  await expect.poll(async () => (await openai().responses.retrieve(response.id)).status).toBe("completed");

  // The OpenAI API starts a background response. After a kill, `useChat` resumes its stream.
  await openai().responses.create({ model: "default", conversation, input: "two", background: true });
  await answer("second");
  await restart();
  const resumed = await resume(program.url, id);
  (await answer("second answer")).finish();
  await resumed?.ended;
  expect(textOf(await resumed?.message())).toBe("second answer");

  // `useChat` starts a turn. After a kill, AG-UI connects to it.
  const known = await messagesOf(program.url, id);
  const open = await openChat(program.url, bodyOf(id, [...known, userMessage("three")]));
  open.ended.catch(() => undefined);
  await answer("third");
  await open.until(({ type }) => type === "text-delta");
  await restart();
  const agent = agUi();
  const connected = agent.agent.connectAgent();
  (await answer("third answer")).finish();
  await connected;

  // Protocols send messages in turn, without a kill.
  const aomi = () => new AgentSession(program.url, { sessionId: id });
  const last = native().sendMessage(id, "four");
  (await answer("fourth answer")).finish();
  await last;
  await expect.poll(async () => (await native().getState(id)).is_processing).toBe(false);
  const fifth = chat(program.url, bodyOf(id, [userMessage("five")]));
  (await answer("fifth answer")).finish();
  await fifth;

  // The agent API starts a turn, and follows it after a kill.
  const session = aomi();
  await session.poll();
  await session.start("six");
  await answer("sixth");
  await restart();
  session.url = program.url;
  const followed = session.follow();
  (await answer("sixth answer")).finish();
  await followed;

  const expected = [
    ["user", "one"],
    ["assistant", "first answer"],
    ["user", "two"],
    ["assistant", "second answer"],
    ["user", "three"],
    ["assistant", "third answer"],
    ["user", "four"],
    ["assistant", "fourth answer"],
    ["user", "five"],
    ["assistant", "fifth answer"],
    ["user", "six"],
    ["assistant", "sixth answer"],
  ];
  const { messages } = await native().getState(id);
  const ids = messages.map((message) => message.id);
  expect(messages.map(({ sender, content }) => [sender === "agent" ? "assistant" : sender, content])).toEqual(
    expected,
  );
  const ui = await messagesOf(program.url, id);
  expect(ui.map((message) => [message.role, textOf(message)])).toEqual(expected);
  expect(ui.map((message) => message.id)).toEqual(ids);
  const other = agUi();
  await other.agent.connectAgent();
  expect(other.agent.messages.map(({ role, content }) => [role, content])).toEqual(expected);
  expect(other.agent.messages.map((message) => message.id)).toEqual(ids);
  const late = aomi();
  await late.poll();
  expect(late.events).toEqual(session.events);
  expect(late.messages.map(([sender, text]) => [sender === "agent" ? "assistant" : sender, text])).toEqual(
    expected,
  );
  const { data: items } = await openai().conversations.items.list(conversation, { order: "asc" });
  expect(
    items.map((item) =>
      item.type === "message"
        ? [item.role, item.content.map((part) => ("text" in part ? part.text : "")).join("")]
        : [],
    ),
  ).toEqual(expected);
});
