// Runs unmodified OpenAI client libraries as child processes. `npm run install:tests` installs them.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";
import { useService } from "../black-box/server.ts";

const FOLDER = join(import.meta.dirname, "../../../../test/openai-clients");
const isMissing = findInstalled("openai-clients", "@openai/agents/package.json") === null;
const TOOL = "The tool get_weather answered: sunny in Rome.";
const FIRST = 'The first thing you said was: "hello"';

describe.skipIf(isMissing)("compatibility", () => {
  const url = useService({ apps: { default: { allowClientTools: true } } });

  async function resultOf(program: string): Promise<Record<string, unknown>> {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [join(FOLDER, program), `${url()}/v1`]);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  it("supports text, history, streams and tools of @ai-sdk/open-responses", async () => {
    expect(await resultOf("ai-sdk.mjs")).toEqual({
      text: "12 * 7 = 84.",
      usage: true,
      streamed: FIRST,
      pieces: expect.any(Number),
      finish: "stop",
      called: [TOOL, 2],
      streamedCall: [TOOL, 2],
    });
  });

  it("supports both APIs, streams and tools of @langchain/openai", async () => {
    const call = ["get_weather", { location: "Rome" }, "The tool get_weather answered: sunny."];
    expect(await resultOf("langchain.mjs")).toEqual({
      chat: "12 * 7 = 84.",
      chatStream: "1 2 3 4",
      chatCall: call,
      responses: "12 * 7 = 84.",
      responsesStream: "1 2 3 4",
      responsesCall: call,
    });
  });

  it("supports tools, streams, OpenAIConversationsSession and server-side conversations of @openai/agents", async () => {
    expect(await resultOf("agents.mjs")).toEqual({
      text: "12 * 7 = 84.",
      called: TOOL,
      streamed: TOOL,
      session: [
        'The first thing you said was: "call get_weather {"location":"Rome"}"',
        ["message", "function_call", "function_call_result", "message", "message", "message"],
      ],
      id: expect.stringMatching(/^conv_/),
      next: FIRST,
      inConversation: FIRST,
      seen: [["", "image/png"]],
      chat: TOOL,
    });
  });
});
