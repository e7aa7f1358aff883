// Files in messages of an unmodified `HttpAgent`.

import type { ContentPart } from "@ag-ui/client";
import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ProtocolService, startProtocolService } from "../protocol-service.ts";
import { agentOf } from "./ag-ui-agent.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const text: ContentPart = { type: "text", text: "what is this?" };
const image = (value = PNG, mimeType = "image/png"): ContentPart => ({
  type: "image",
  source: { type: "data", value, mimeType },
  metadata: { filename: "dot.png" },
});

describe("a message with files", () => {
  let service: ProtocolService;
  beforeEach(async () => {
    service = await startProtocolService();
  });
  afterEach(() => service.close());

  const start = (threadId?: string) =>
    agentOf(`${service.url}/api/ag-ui`, threadId === undefined ? {} : { threadId });
  const stateOf = (id: string) => createClient({ baseUrl: service.url }).getState(id);

  /** Sends a message with these parts. Returns the model's prompt. */
  async function sent(content: readonly unknown[], { agent } = start(), id: string = randomUUID()) {
    agent.addMessage({ id, role: "user", content: content as ContentPart[] });
    const running = agent.runAgent();
    const call = await service.model.next();
    call.say("A dot.").finish();
    await running;
    return { agent, prompt: call.prompt.join("\n") };
  }

  it("stores them as attachments, for the model and for clients that connect later", async () => {
    const { agent, prompt } = await sent([text, image()]);
    expect(prompt).toContain('"mediaType":"image/png"');
    const { messages } = await stateOf(agent.threadId);
    expect(messages[0]).toMatchObject({
      content: "what is this?",
      attachments: [{ name: "dot.png", media_type: "image/png" }],
    });
    const { id } = messages[0]!.attachments![0]!;
    const other = start(agent.threadId);
    await other.agent.connectAgent();
    expect(other.agent.messages[0]).toMatchObject({
      role: "user",
      content: [
        { type: "image", source: { type: "url", value: `/api/files/${id}`, mimeType: "image/png" } },
        text,
      ],
    });
    const again = await sent([image(), { type: "image", source: { type: "file", value: id } }], other);
    expect(again.prompt).toContain('"mediaType":"image/png"');
    const [part] = other.agent.messages[0]!.content as ContentPart[];
    await sent([part], other);
    const last = (await stateOf(agent.threadId)).messages.findLast(({ sender }) => sender === "user");
    expect(last).toMatchObject({ content: "", attachments: [{ id }] });
  });

  it.each([
    ["a data URL", { type: "image", source: { type: "url", value: `data:image/png;base64,${PNG}` } }],
    ["another declared type", image(PNG, "image/jpeg")],
    [
      "a document source",
      { type: "document", source: { type: "data", value: PNG, mimeType: "application/octet-stream" } },
    ],
    [
      "the part of an older client",
      { type: "binary", mimeType: "image/png", data: PNG, filename: "dot.png" },
    ],
  ])("accepts %s", async (_what, part) => {
    const { agent } = await sent([part]);
    const { messages } = await stateOf(agent.threadId);
    expect(messages[0]?.attachments).toMatchObject([{ media_type: "image/png" }]);
  });

  it("stores a repeated message once, even while its answer is in progress", async () => {
    const id = randomUUID();
    const { agent } = start();
    const body = {
      threadId: agent.threadId,
      runId: "one",
      messages: [{ id, role: "user", content: [text, image()] }],
    };
    const post = () =>
      fetch(`${service.url}/api/ag-ui`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    const first = await post();
    const second = await post();
    (await service.model.next()).say("A dot.").finish();
    expect(await first.text()).toContain("A dot.");
    expect(await second.text()).toContain("A dot.");
    expect((await stateOf(agent.threadId)).messages).toHaveLength(2);
  });

  it("may have more than 1 MiB", async () => {
    const large = Buffer.concat([Buffer.from("%PDF-1.4\n"), Buffer.alloc(3 * 1024 * 1024, "\n")]);
    const part = {
      type: "document",
      source: { type: "data", value: large.toString("base64"), mimeType: "application/pdf" },
    };
    const { agent } = await sent([text, part]);
    const { messages } = await stateOf(agent.threadId);
    expect(messages[0]?.attachments).toMatchObject([{ media_type: "application/pdf", bytes: large.length }]);
  });

  it.each([
    ["an address", { type: "image", source: { type: "url", value: "https://example.com/a.png" } }, 400],
    ["a file of another provider", { type: "image", source: { type: "file", value: "file-1" } }, 400],
    ["no base64", image("@@@"), 400],
    ["a file of no thread", { type: "image", source: { type: "file", value: randomUUID() } }, 400],
    ["a video", { type: "video", source: { type: "data", value: "AAAA", mimeType: "video/mp4" } }, 415],
    ["an unknown part", { type: "hologram" }, 400],
  ])("rejects %s", async (_what, part, status) => {
    const answer = await fetch(`${service.url}/api/ag-ui`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        threadId: randomUUID(),
        runId: "one",
        messages: [{ id: "a", role: "user", content: [text, part] }],
      }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([status, { type: "RUN_ERROR" }]);
  });
});
