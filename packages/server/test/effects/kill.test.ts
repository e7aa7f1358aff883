// Effects of tools under kill -9: a service counts the calls it receives while the server is killed
// repeatedly. A call of an unsafe tool arrives at most once; other calls are repeated with the same key.

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ScriptedMcp, sendResult, type McpRequest } from "@colloquy/mcp/internal/testing/scripted-mcp";
import { chat, whenIdle } from "../black-box/client.ts";
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

// One program for all tests, killed and restarted on the same data.
beforeAll(async () => {
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

afterAll(async () => {
  await program?.remove();
  await provider?.stop();
  await service?.stop();
});

beforeEach(() => void (service.requests.length = 0));

/** Calls the tools that the message names, and then reports their results. */
const answerAsModel: ProviderServer["answer"] = (response, { body }) => {
  const messages = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: string }>;
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const parts =
    results.length > 0
      ? [{ deltas: [results.join(" | ")] }]
      : asked.split(" ").map((tool, index) => ({ tool: `count_${tool}`, input: {}, id: `call_${index}` }));
  writeEvents(response, compatible.answer(parts));
  response.end("data: [DONE]\n\n");
};

/** Returns the received calls of a tool, with their keys. */
function counted(tool: string): readonly unknown[] {
  return service
    .of("tools/call")
    .filter(({ params }) => params["name"] === tool)
    .map(({ params }) => (params["_meta"] as Record<string, unknown>)["idempotency-key"]);
}

function done({ params }: McpRequest): object {
  return { content: [{ type: "text", text: `done ${String(params["name"])}` }] };
}

/**
 * Responds to this many calls. When this many more are waiting, kills the server, before or after responding
 * to them, and restarts it.
 */
function killWhen(
  { answered = 0, waiting }: { readonly answered?: number; readonly waiting: number },
  when: "before" | "after" = "before",
): Promise<void> {
  const killed = Promise.withResolvers<void>();
  const held: Array<readonly [McpRequest, ServerResponse]> = [];
  let calls = 0;
  service.call = (request, response) => {
    calls += 1;
    if (calls <= answered || calls > answered + waiting) return done(request);
    held.push([request, response]);
    if (held.length < waiting) return undefined;
    if (when === "after") for (const [asked, answer] of held) sendResult(answer, asked, done(asked));
    void program
      .stop("SIGKILL")
      .then(() => program.run())
      .then(killed.resolve, killed.reject);
    return undefined;
  };
  return killed.promise;
}

/** Returns the answers of sessions (one per tool) whose calls are waiting during the kill. */
async function answersOverKill(
  tools: readonly string[],
  when: "before" | "after",
): Promise<readonly string[]> {
  const killed = killWhen({ waiting: tools.length }, when);
  const sessions = tools.map(() => randomUUID());
  await Promise.all(tools.map((tool, index) => chat(program.url, sessions[index] ?? "", tool)));
  await killed;
  return Promise.all(sessions.map((session) => answerTo(session)));
}

async function answerTo(session: string): Promise<string> {
  const snapshot = await whenIdle(program.url, session);
  return snapshot.messages.at(-1)?.content ?? "";
}

describe("a process killed while a tool runs", () => {
  it("repeats safe calls after a restart; unsafe calls have an unknown outcome", async () => {
    const tools = ["read", "idempotent", "unsafe"];
    expect(await answersOverKill(tools, "before")).toEqual([
      "done read",
      "done idempotent",
      "outcome unknown",
    ]);
    expect(tools.map((tool) => [tool, counted(tool).length])).toEqual([
      ["read", 2],
      ["idempotent", 2],
      ["unsafe", 1],
    ]);
    expect(tools.map((tool) => [tool, new Set(counted(tool)).size])).toEqual(tools.map((tool) => [tool, 1]));
  });

  it("uses different keys for calls of two sessions, even if the model gives both the same id", async () => {
    service.call = done;
    for (const session of [randomUUID(), randomUUID()]) {
      await chat(program.url, session, "idempotent");
      await answerTo(session);
    }
    expect(new Set(counted("idempotent"))).toHaveLength(2);
  });

  it("returns one result for each of many calls, and sends no unsafe call twice", async () => {
    const session = randomUUID();
    const killed = killWhen({ answered: 2, waiting: 1 });
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

  it("runs each unsafe call that had not started, and repeats none that had", async () => {
    const [all, atOnce] = [12, 8];
    // No call gets a response until all slots are used.
    const killed = killWhen({ waiting: atOnce });
    const session = randomUUID();
    await chat(program.url, session, Array<string>(all).fill("unsafe").join(" "));
    await killed;
    expect((await answerTo(session)).split(" | ")).toEqual([
      ...Array<string>(atOnce).fill("outcome unknown"),
      ...Array<string>(all - atOnce).fill("done unsafe"),
    ]);
    expect(counted("unsafe")).toHaveLength(all);
    expect(new Set(counted("unsafe"))).toHaveLength(all);
  });

  it("repeats no unsafe call if it is killed while the responses arrive", async () => {
    const [read, idempotent, unsafe] = await answersOverKill(["read", "idempotent", "unsafe"], "after");
    expect([read, idempotent]).toEqual(["done read", "done idempotent"]);
    for (const tool of ["read", "idempotent"]) expect(new Set(counted(tool))).toHaveLength(1);
    expect(counted("unsafe")).toHaveLength(1);
    expect(["done unsafe", "outcome unknown"]).toContain(unsafe);
  });
});
