// Turns of protocol clients that are steered by another client.

import { randomUUID } from "node:crypto";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import OpenAI from "openai";
import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentOf } from "./ag-ui/ag-ui-agent.ts";
import { connectTo } from "./mcp-server/mcp-service.ts";
import { type ProtocolService, startProtocolService } from "./protocol-service.ts";

let service: ProtocolService;
beforeEach(async () => {
  service = await startProtocolService({
    adjust: (config) => {
      const app = { ...config.apps["default"]!, onBusy: "steer" as const };
      return { ...config, apps: { ...config.apps, default: app } };
    },
  });
});
afterEach(() => service.close());

const native = () => createClient({ baseUrl: service.url });

/** Answers a turn in two steps, steers it natively in the first one, and returns its second model call. */
async function steer(id: string) {
  const first = await service.model.next();
  first.say("First.");
  await native().sendMessage(id, "faster");
  first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
  const second = await service.model.next();
  expect(second.prompt.at(-1)).toContain("faster");
  return second;
}

/** Returns the agent messages of a conversation. */
async function answersOf(id: string) {
  const { messages } = await native().getState(id);
  return messages.filter(({ sender }) => sender === "agent");
}

const textOf = (message: UIMessage | undefined): string | undefined =>
  message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("useChat", () => {
  const transport = () => new DefaultChatTransport({ api: `${service.url}/api/ai-sdk/chat` });
  const send = async (chatId: string, message: UIMessage) =>
    await transport().sendMessages({
      chatId,
      trigger: "submit-message",
      messageId: undefined,
      messages: [message],
      abortSignal: undefined,
    });
  const user = (text: string): UIMessage => ({
    id: randomUUID(),
    role: "user",
    parts: [{ type: "text", text }],
  });
  const shown = async (stream: ReadableStream): Promise<UIMessage | undefined> => {
    let last: UIMessage | undefined;
    for await (const state of readUIMessageStream({ stream })) last = structuredClone(state);
    return last;
  };

  it("gets the messages of the turn as one answer", async () => {
    const id = randomUUID();
    const answer = shown(await send(id, user("go")));
    (await steer(id)).say("Second.").finish();
    const message = await answer;
    expect(textOf(message)).toBe("First.\n\nSecond.");
    expect(message?.parts.filter(({ type }) => type === "dynamic-tool")).toMatchObject([
      { toolCallId: "c1", state: "output-available" },
    ]);
    expect(message?.id).toBe((await answersOf(id))[0]?.id);
  });

  it("resumes with the message in progress, which is not in its own list of messages", async () => {
    const id = randomUUID();
    const abandoned = await send(id, user("go"));
    const second = await steer(id);
    await abandoned.cancel();
    second.say("Sec");
    await expect.poll(async () => (await answersOf(id)).at(-1)?.content).toBe("Sec");
    const listed = await fetch(`${service.url}/api/ai-sdk/chat/${id}/messages`);
    expect(((await listed.json()) as UIMessage[]).map(textOf)).toEqual(["go", "First.", "faster"]);
    const stream = await transport().reconnectToStream({ chatId: id });
    const answer = shown(stream!);
    second.say("ond.").finish();
    expect(textOf(await answer)).toBe("Second.");
  });

  it("sends messages that get their own turn, even in an App that steers by default", async () => {
    const id = randomUUID();
    const first = shown(await send(id, user("go")));
    const call = await service.model.next();
    const second = shown(await send(id, user("and more")));
    call.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    const next = await service.model.next();
    expect(next.prompt.join()).not.toContain("and more");
    next.say("One.").finish();
    expect(textOf(await first)).toBe("One.");
    (await service.model.next()).say("Two.").finish();
    expect(textOf(await second)).toBe("Two.");
  });
});

describe("OpenAI clients", () => {
  const client = () =>
    new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "any", maxRetries: 0, logLevel: "off" });

  it("get the messages of the turn as one response, streamed and stored", async () => {
    const { id: conversation } = await client().conversations.create();
    const id = (await service.sessions())[0]!;
    const stream = await client().responses.create({
      model: "default",
      conversation,
      input: "go",
      stream: true,
    });
    const answered = (async () => {
      let last: OpenAI.Responses.Response | undefined;
      for await (const event of stream) if (event.type === "response.completed") last = event.response;
      return last;
    })();
    (await steer(id)).say("Second.").finish();
    const response = await answered;
    const texts = ({ output }: OpenAI.Responses.Response): string[] =>
      output.flatMap((item) =>
        item.type === "message" ? item.content.map((part) => ("text" in part ? part.text : "")) : [],
      );
    expect(texts(response!)).toEqual(["First.", "Second."]);
    const stored = await client().responses.retrieve(response!.id);
    expect(texts(stored)).toEqual(["First.", "Second."]);
    expect(stored.status).toBe("completed");
  });
});

describe("AG-UI agents", () => {
  it("receive the messages of the turn as consecutive messages", async () => {
    const { agent, say } = agentOf(`${service.url}/api/ag-ui`);
    const done = say("go");
    (await steer(agent.threadId)).say("Second.").finish();
    await done;
    const texts = agent.messages.flatMap(({ role, content }) => (role === "assistant" ? [content] : []));
    expect(texts).toEqual(["First.", "Second."]);
    const ids = agent.messages.flatMap(({ role, id }) => (role === "assistant" ? [id] : []));
    expect(ids).toEqual((await answersOf(agent.threadId)).map(({ id }) => id));
    // A reloaded thread has the same ids.
    const other = agentOf(`${service.url}/api/ag-ui`, { threadId: agent.threadId });
    await other.agent.connectAgent();
    expect(other.agent.messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "go"],
      ["assistant", "First."],
      ["tool", expect.stringContaining("2")],
      ["user", "faster"],
      ["assistant", "Second."],
    ]);
    const known = other.agent.messages.flatMap(({ role, id }) => (role === "assistant" ? [id] : []));
    expect(known).toEqual(ids);
  });
});

describe("MCP clients", () => {
  it("get the messages of the turn as one answer", async () => {
    const mcp = await connectTo(`${service.url}/mcp`);
    const called = mcp.callTool({
      name: "start_conversation",
      arguments: { message: "go", wait_seconds: 20 },
    });
    const first = await service.model.next();
    const id = (await service.sessions())[0]!;
    first.say("First.");
    await native().sendMessage(id, "faster");
    first.callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
    (await service.model.next()).say("Second.").finish();
    expect(JSON.stringify(await called)).toContain("First.\\n\\nSecond.");
    await mcp.close();
  });
});
