// The image of a tool on the wire of each provider.

import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { expect, it, onTestFinished } from "vitest";
import { ScriptedMcp } from "../../../mcp/src/testing/scripted-mcp.ts";
import { answerJson, writeEvents } from "../provider-server.ts";
import { PROTOCOLS, type Part } from "./protocols.ts";
import { newSession, startProviderService } from "./provider-service.ts";

const PNG = FILES.png.toString("base64");
const CALL = { tool: "browser_screenshot", input: {}, id: "callabcde" };
const NOTE = '[The tool browser_screenshot returned the file "image.png", which is included here.]';
const OUTPUT = JSON.stringify([{ type: "image", mime_type: "image/png", bytes: FILES.png.length }]);

/** Expected items after the call in the second request, by provider. */
const EXPECTED: Readonly<Record<string, readonly unknown[]>> = {
  openai: [
    {
      type: "function_call_output",
      call_id: CALL.id,
      output: [
        { type: "input_text", text: OUTPUT },
        { type: "input_text", text: NOTE },
        { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
      ],
    },
  ],
  anthropic: [
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: CALL.id,
          content: [
            { type: "text", text: OUTPUT },
            { type: "text", text: NOTE },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          ],
        },
      ],
    },
  ],
  google: [
    { role: "user", parts: [{ functionResponse: { name: CALL.tool } }] },
    { role: "user", parts: [{ text: NOTE }, { inlineData: { mimeType: "image/png", data: PNG } }] },
  ],
  local: [
    { role: "tool", tool_call_id: CALL.id, content: OUTPUT },
    { role: "assistant", content: "(no answer)" },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
        { type: "text", text: NOTE },
      ],
    },
  ],
};

it.each(PROTOCOLS.map((protocol) => [protocol.rig, protocol] as const))(
  "%s gets the image of a tool as an image, and a sentence if it refuses that",
  async (rig, protocol) => {
    const server = await new ScriptedMcp().start();
    onTestFinished(() => server.stop());
    server.tools = [{ name: "screenshot", inputSchema: { type: "object" } }];
    server.call = () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] });
    const app = { mcp: { browser: { url: server.url } }, approvals: { browser_screenshot: "never" } };
    const service = await startProviderService(rig, app);
    onTestFinished(() => service.stop());
    const { provider } = service;
    const answers: readonly (readonly Part[])[] = [[CALL], [{ deltas: ["A dot."] }]];
    provider.answer = (response) => {
      writeEvents(response, protocol.answer(answers[Math.min(provider.requests.length, 2) - 1] ?? []));
      response.end();
    };
    const session = newSession();
    const { messages } = await service.chat(session, "Look", "wait");
    expect(messages[1]).toMatchObject({
      content: "A dot.",
      tool_results: [{ attachments: [{ media_type: "image/png", name: "image.png" }] }],
    });
    const [, second] = provider.requests;
    const expected = EXPECTED[rig.split("/", 1)[0] ?? ""] ?? [];
    const sent = protocol.conversation(second!.body) as readonly unknown[];
    expect(sent.slice(-expected.length)).toMatchObject(expected);
    expect(JSON.stringify(sent).split(PNG)).toHaveLength(2);

    provider.answer = (response, request) => {
      if (JSON.stringify(request.body).includes(PNG)) {
        const error = protocol.errorBody(400, "this model does not support image input");
        answerJson(400, error)(response, request);
        return;
      }
      writeEvents(response, protocol.answer([{ deltas: ["I cannot see it."] }]));
      response.end();
    };
    expect((await service.chat(session, "And now?", "wait")).messages[3]).toMatchObject({
      status: "complete",
      content: "I cannot see it.",
    });
    const last = JSON.stringify(provider.requests.at(-1)?.body);
    expect(last).toContain("which you cannot read here");
    expect(last).not.toContain("I called the tool");
  },
);
