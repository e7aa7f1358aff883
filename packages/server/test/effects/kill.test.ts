// What a tool does to the world, under kill -9: a service counts the calls that reach it, while the server's process is killed again and
// again. An unsafe tool reaches it at most once a call; the others run again, under the same key.

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ScriptedMcp, sendResult, type McpRequest } from "../../src/tools/mcp/testing/scripted-mcp.ts";
import { chat, settled } from "../black-box/client.ts";
import { Program } from "../black-box/server.ts";
import { ProviderServer, writeEvents } from "../provider-server.ts";
import { compatible } from "../providers/compatible-protocol.ts";

const inputSchema = { type: "object" };
const TOOLS = [
  { name: "unsafe", inputSchema },
  { name: "idempotent", inputSchema, annotations: { idempotentHint: true } },
  { name: "read", inputSchema, annotations: { readOnlyHint: true } },
];

let service: ScriptedMcp;
let provider: ProviderServer;
let program: Program;

beforeEach(async () => {
  service = await new ScriptedMcp().start();
  service.tools = TOOLS;
  provider = new ProviderServer();
  await provider.start();
  provider.answer = answerAsModel;
  program = await Program.start({
    apps: {
      default: {
        models: ["local/scripted"],
        utilityModel: "demo/assistant",
        tools: [],
        mcp: { count: { url: service.url } },
      },
    },
    providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
  });
});

afterEach(async () => {
  await program.remove();
  await provider.stop();
  await service.stop();
});

/** Calls the tools that the message names, then says what their results were. */
const answerAsModel: ProviderServer["answer"] = (response, { body }) => {
  const messages = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: string }>;
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const pieces =
    results.length > 0
      ? [{ say: [results.join(" | ")] }]
      : asked.split(" ").map((tool, index) => ({ call: `count_${tool}`, input: {}, id: `call_${index}` }));
  writeEvents(response, compatible.answer(pieces));
  response.end("data: [DONE]\n\n");
};

/** Calls by tool, with their keys. */
function counted(tool: string): readonly unknown[] {
  return service
    .of("tools/call")
    .filter(({ params }) => params["name"] === tool)
    .map(({ params }) => (params["_meta"] as Record<string, unknown>)["idempotency-key"]);
}

/** Kills the server's process when the service has been called for the `at`th time, before it answers or after it; then starts it again. */
function killAt(at: number, when: "before" | "after"): Promise<void> {
  const killed = Promise.withResolvers<void>();
  let calls = 0;
  service.call = (request: McpRequest, response: ServerResponse) => {
    calls += 1;
    const result = { content: [{ type: "text", text: `done ${String(request.params["name"])}` }] };
    if (calls !== at) return result;
    if (when === "after") sendResult(response, request, result);
    void program
      .stop("SIGKILL")
      .then(() => program.run())
      .then(killed.resolve, killed.reject);
    return undefined;
  };
  return killed.promise;
}

async function answerTo(session: string): Promise<string> {
  const snapshot = await settled(program.url, session);
  return snapshot.messages.at(-1)?.content ?? "";
}

describe("a process that is killed while a tool works", () => {
  it.each([
    ["read", 2, "done read"],
    ["idempotent", 2, "done idempotent"],
    ["unsafe", 1, "outcome unknown"],
  ])("goes on after its start: %s", async (tool, runs, result) => {
    const killed = killAt(1, "before");
    const session = randomUUID();
    await chat(program.url, session, tool);
    await killed;
    expect(await answerTo(session)).toBe(result);
    const keys = counted(tool);
    expect(keys).toHaveLength(runs);
    expect(new Set(keys)).toHaveLength(1);
  });

  it("never gives the calls of two sessions one key, though the model calls both by the same id", async () => {
    service.call = ({ params }) => ({ content: [{ type: "text", text: `done ${String(params["name"])}` }] });
    for (const session of [randomUUID(), randomUUID()]) {
      await chat(program.url, session, "idempotent");
      await answerTo(session);
    }
    expect(new Set(counted("idempotent"))).toHaveLength(2);
  });

  it("has one result for each of many calls, and no unsafe call reached the service twice", async () => {
    const session = randomUUID();
    const killed = killAt(3, "before");
    await chat(program.url, session, "unsafe read unsafe idempotent unsafe unsafe read");
    await killed;
    const results = (await answerTo(session)).split(" | ");
    expect(results).toHaveLength(7);
    for (const [index, tool] of [
      "unsafe",
      "read",
      "unsafe",
      "idempotent",
      "unsafe",
      "unsafe",
      "read",
    ].entries()) {
      expect([`done ${tool}`, ...(tool === "unsafe" ? ["outcome unknown"] : [])]).toContain(results[index]);
    }
    expect(new Set(counted("unsafe"))).toHaveLength(counted("unsafe").length);
  });

  it("runs the unsafe calls that had no place before, each once, and none of those that had begun", async () => {
    const [all, atOnce] = [12, 8];
    const killed = Promise.withResolvers<void>();
    let calls = 0;
    service.call = () => {
      calls += 1;
      if (calls > atOnce) return { content: [{ type: "text", text: "done" }] };
      // Nobody is answered until all that may run at the same time have come.
      if (calls === atOnce) {
        const again = program.stop("SIGKILL").then(() => program.run());
        again.then(killed.resolve, killed.reject);
      }
      return undefined;
    };
    const session = randomUUID();
    await chat(program.url, session, Array<string>(all).fill("unsafe").join(" "));
    await killed.promise;
    expect((await answerTo(session)).split(" | ")).toEqual([
      ...Array<string>(atOnce).fill("outcome unknown"),
      ...Array<string>(all - atOnce).fill("done"),
    ]);
    expect(counted("unsafe")).toHaveLength(all);
    expect(new Set(counted("unsafe"))).toHaveLength(all);
  });

  it.each(["read", "idempotent", "unsafe"])(
    "just when the answer of %s comes repeats no unsafe call",
    async (tool) => {
      const killed = killAt(1, "after");
      const session = randomUUID();
      await chat(program.url, session, tool);
      await killed;
      const result = await answerTo(session);
      if (tool === "unsafe") {
        expect(counted(tool)).toHaveLength(1);
        expect(["done unsafe", "outcome unknown"]).toContain(result);
      } else {
        expect(result).toBe(`done ${tool}`);
        expect(new Set(counted(tool))).toHaveLength(1);
      }
    },
  );
});
