// An unmodified `HttpAgent` with files in tool results, of the App's tools and of the client's.

import { createClient } from "@colloquy/client";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import type { ContentPart, Message } from "@ag-ui/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withDrawing } from "../drawing-tool.ts";
import { type ProtocolService, startProtocolService } from "../protocol-service.ts";
import { type Agent, agentOf } from "./ag-ui-agent.ts";

const URL_OF_FILE = /^\/api\/files\/[0-9a-f-]{36}$/;
const source = (mimeType: string) => ({ type: "url", value: expect.stringMatching(URL_OF_FILE), mimeType });

describe("the files of a result", () => {
  let service: ProtocolService;
  beforeEach(async () => {
    service = await startProtocolService({ adjust: withDrawing });
  });
  afterEach(() => service.close());

  /** Creates an agent; `version` is that of its client, if it is an older one. */
  function start(threadId?: string, version?: string): Agent {
    const one = agentOf(`${service.url}/api/ag-ui`, threadId === undefined ? {} : { threadId });
    if (version !== undefined) Object.defineProperty(one.agent, "maxProtocolVersion", { value: version });
    return one;
  }

  async function draw({ agent, say }: Agent): Promise<Message | undefined> {
    const done = say("draw");
    (await service.model.next()).callTool("draw", {}).finish("tool-calls");
    (await service.model.next()).say("Drawn.").finish();
    await done;
    return resultIn(agent.messages);
  }

  const resultIn = (messages: readonly Message[]) => messages.findLast(({ role }) => role === "tool");

  it("are parts after its text, in the run and for clients that connect later", async () => {
    const first = start();
    const result = await draw(first);
    expect(result?.content).toEqual([
      { type: "text", text: '{"charts":1}' },
      { type: "image", source: source("image/png"), metadata: { filename: "chart-0.png" } },
      { type: "document", source: source("text/csv"), metadata: { filename: "cups.csv" } },
    ]);
    const other = start(first.agent.threadId);
    await other.agent.connectAgent();
    expect(resultIn(other.agent.messages)).toEqual(result);

    const [, image] = result!.content as ContentPart[];
    const { value } = (image as { readonly source: { readonly value: string } }).source;
    const download = (session: string) =>
      fetch(service.url + value, { headers: { "X-Session-Id": session } });
    const found = await download(first.agent.threadId);
    expect(Buffer.from(await found.arrayBuffer())).toEqual(FILES.png);
    expect((await download(crypto.randomUUID())).status).toBe(404);
  });

  it("may be sent back with the history", async () => {
    const { agent, say } = start();
    await draw({ agent, say } as Agent);
    const done = say("and now?");
    (await service.model.next()).say("Fine.").finish();
    await done;
    expect(agent.messages.at(-1)).toMatchObject({ role: "assistant", content: "Fine." });
  });

  it("are left out for clients before version 1.0, which reject results with parts", async () => {
    const first = start(undefined, "0.0.57");
    expect(await draw(first)).toMatchObject({ content: '{"charts":1}' });
    const other = start(first.agent.threadId, "0.0.57");
    await other.agent.connectAgent();
    expect(resultIn(other.agent.messages)).toMatchObject({ content: '{"charts":1}' });
  });
});

describe("the files of a client tool's result", () => {
  let service: ProtocolService;
  beforeEach(async () => {
    service = await startProtocolService();
  });
  afterEach(() => service.close());

  const TOOL = {
    name: "look",
    description: "Takes a picture",
    parameters: { type: "object", properties: {} },
  };
  const picture = (value = FILES.png.toString("base64")): ContentPart => ({
    type: "image",
    source: { type: "data", value, mimeType: "image/png" },
    metadata: { filename: "desk.png" },
  });
  const stateOf = (id: string) => createClient({ baseUrl: service.url }).getState(id);

  /** Lets the model call the tool. Returns a function that adds the client's result to the agent's messages. */
  async function called(one: Agent): Promise<(content: readonly ContentPart[]) => void> {
    const asked = one.say("look", { tools: [TOOL] });
    (await service.model.next()).callTool("look", {}).finish("tool-calls");
    await asked;
    const [call] = (one.agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls;
    return (content) =>
      one.agent.addMessage({
        id: crypto.randomUUID(),
        role: "tool",
        toolCallId: call!.id,
        content: [...content],
      });
  }

  it("reach the model, and are stored with the result", async () => {
    const one = agentOf(`${service.url}/api/ag-ui`);
    const answer = await called(one);
    answer([{ type: "text", text: "a desk" }, picture()]);
    const continued = one.agent.runAgent({ tools: [TOOL] });
    const second = await service.model.next();
    expect(second.prompt.join("\n")).toContain("a desk");
    expect(second.prompt.join("\n")).toContain('"mediaType":"image/png"');
    second.say("A desk.").finish();
    await continued;
    const { messages } = await stateOf(one.agent.threadId);
    const [result] = messages[1]!.tool_results!;
    expect(result).toMatchObject({
      output: "a desk",
      attachments: [{ name: "desk.png", media_type: "image/png" }],
    });
    const other = agentOf(`${service.url}/api/ag-ui`, { threadId: one.agent.threadId });
    await other.agent.connectAgent();
    const url = `/api/files/${result!.attachments![0]!.id}`;
    expect(other.agent.messages.find(({ role }) => role === "tool")?.content).toEqual([
      { type: "text", text: "a desk" },
      {
        type: "image",
        source: { type: "url", value: url, mimeType: "image/png" },
        metadata: { filename: "desk.png" },
      },
    ]);
  });

  it("can be corrected after a rejection, with the results of parallel calls", async () => {
    const one = agentOf(`${service.url}/api/ag-ui`);
    const asked = one.say("look twice", { tools: [TOOL] });
    (await service.model.next())
      .callTool("look", {}, "call_0")
      .callTool("look", {}, "call_1")
      .finish("tool-calls");
    await asked;
    const calls = (one.agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls;
    const answer = (at: number, content: ContentPart) =>
      one.agent.addMessage({
        id: crypto.randomUUID(),
        role: "tool",
        toolCallId: calls[at]!.id,
        content: [content],
      });
    answer(0, picture());
    answer(1, { type: "image", source: { type: "file", value: crypto.randomUUID() } });
    await expect(one.agent.runAgent({ tools: [TOOL] })).rejects.toThrow("file_not_found");
    expect((await stateOf(one.agent.threadId)).pending_actions).toHaveLength(2);
    one.agent.setMessages(one.agent.messages.slice(0, -2));
    answer(0, picture());
    answer(1, { type: "text", text: "nothing there" });
    const continued = one.agent.runAgent({ tools: [TOOL] });
    const second = await service.model.next();
    expect(second.prompt.join("\n")).toContain("nothing there");
    second.say("A desk.").finish();
    await continued;
    expect(one.agent.messages.at(-1)).toMatchObject({ content: "A desk." });
  });

  it.each<[string, readonly ContentPart[], string]>([
    [
      "a file of another server",
      [{ type: "image", source: { type: "url", value: "https://example.com/desk.png" } }],
      "A file must have a source",
    ],
    [
      "eleven files",
      Array.from({ length: 11 }, (_, index) => picture(Buffer.from([index]).toString("base64"))),
      "A message or a result may have at most 10 files.",
    ],
  ])("are rejected if there is %s, and the call still waits", async (_what, content, problem) => {
    const one = agentOf(`${service.url}/api/ag-ui`);
    const answer = await called(one);
    answer(content);
    await expect(one.agent.runAgent({ tools: [TOOL] })).rejects.toThrow(problem);
    expect((await stateOf(one.agent.threadId)).pending_actions).toHaveLength(1);
  });
});
