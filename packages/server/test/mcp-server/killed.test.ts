// Kills the process while clients wait for answers, and continues the same conversations on the next process.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Program } from "../black-box/server.ts";
import { connectTo, MODERN } from "./mcp-service.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Starts a provider that sends the start of each answer at once, and the rest on `finish`. */
async function startProvider() {
  const open: ServerResponse[] = [];
  let arrived = Promise.withResolvers<void>();
  const line = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(line({ role: "assistant", content: "one two" }, null));
    open.push(response);
    arrived.resolve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves once `count` calls are open. */
    async calls(count: number): Promise<void> {
      while (open.length < count) {
        await arrived.promise;
        arrived = Promise.withResolvers();
      }
    },
    forget: (): void => void open.splice(0),
    finish(): void {
      for (const response of open.splice(0))
        response.end(`${line({ content: " three" }, null)}${line({}, "stop")}data: [DONE]\n\n`);
    },
  };
}

const KILLS = 3;
const CLIENTS = 4;

describe("a process that is killed while clients wait", () => {
  it.each([
    ["2026-07-28", MODERN],
    ["2025-11-25", {}],
  ])("loses no message of %s clients, and answers each message once", async (_revision, options) => {
    const provider = await startProvider();
    const program = await Program.start({
      providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
      apps: { default: { models: ["local/m"], utilityModel: "demo/assistant" } },
    });
    cleanups.push(() => program.remove());
    const sessions = Array.from({ length: CLIENTS }, () => randomUUID());
    const client = () => connectTo(`${program.url}/mcp`, options);
    const textOf = (result: { structuredContent?: unknown }) =>
      (result.structuredContent as { text: string }).text;

    for (let kill = 0; kill < KILLS; kill += 1) {
      const messages = sessions.map((session_id) => ({
        session_id,
        message: `${kill}`,
        message_id: randomUUID(),
      }));
      // The first message creates the conversation with a client-chosen id.
      const send = async (input: (typeof messages)[number]) => {
        const { session_id, message } = input;
        const connected = await client();
        const call =
          kill === 0
            ? { name: "start_conversation", arguments: { session_id, message } }
            : { name: "send_message", arguments: { ...input } };
        try {
          return textOf(await connected.callTool(call));
        } finally {
          await connected.close();
        }
      };
      const lost = messages.map((message) =>
        send(message).then(
          () => "answered",
          () => "lost",
        ),
      );
      await provider.calls(CLIENTS);
      await program.stop("SIGKILL");
      expect(new Set(await Promise.all(lost))).toEqual(new Set(["lost"]));
      provider.forget();
      await program.run();
      const repeated = messages.map((message) => send(message));
      await provider.calls(CLIENTS);
      provider.finish();
      expect(new Set(await Promise.all(repeated))).toEqual(new Set(["one two three"]));
    }

    const reader = await client();
    for (const session_id of sessions) {
      const result = await reader.callTool({ name: "get_conversation", arguments: { session_id } });
      const { messages } = result.structuredContent as { messages: { text: string }[] };
      expect(messages.map(({ text }) => text)).toEqual(
        Array.from({ length: KILLS }, (_, kill) => [`${kill}`, "one two three"]).flat(),
      );
    }
    await reader.close();
  });
});
