// A full disk, for the program itself: strace makes every write to the data directory fail with ENOSPC. Tries
// every operation meanwhile, then frees space again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type Call,
  chat,
  expectProblem,
  newSession,
  open,
  send,
  whenIdle,
  state,
} from "./black-box/client.ts";
import { Program } from "./black-box/server.ts";
import { isWithout } from "./programs.ts";

const CONFIG = {
  apps: {
    default: {
      tools: ["calculator"],
      approvals: { calculator: "always" },
      secrets: [{ name: "TOKEN", description: "A token" }],
    },
  },
};

describe.skipIf(await isWithout("strace"))("a full disk", () => {
  let program: Program;
  let tracer: ChildProcess | null = null;
  const known = newSession();
  const waiting = newSession();
  let action = "";

  beforeAll(async () => {
    program = await Program.start(CONFIG);
    await chat(program.url, known, "hello there");
    await whenIdle(program.url, known);
    await chat(program.url, waiting, "what is 12 * 7?");
    action = await askedAction(program.url, waiting);
    tracer = await fillDisk(program.pids[0] ?? 0);
  });
  afterAll(async () => {
    tracer?.kill("SIGTERM");
    await program.remove();
  });

  it.each<[name: string, method: string, path: () => string, call: () => Call]>([
    ["create session", "POST", () => "/api/sessions", () => ({ session: newSession() })],
    ["rename thread", "PATCH", () => `/api/sessions/${known}`, () => ({ json: { title: "Other" } })],
    ["pin thread", "PUT", () => `/api/sessions/${known}/pin`, () => ({})],
    ["delete thread", "DELETE", () => `/api/sessions/${known}`, () => ({})],
    ["send message", "POST", () => "/api/chat?message=again", () => ({ session: known })],
    [
      "send message to a new session",
      "POST",
      () => "/api/chat?message=hi",
      () => ({ session: newSession() }),
    ],
    ["get state of a new session", "GET", () => "/api/state", () => ({ session: newSession() })],
    ["interrupt", "POST", () => "/api/interrupt", () => ({ session: waiting })],
    [
      "decide action",
      "POST",
      () => `/api/actions/${action}`,
      () => ({ session: waiting, json: { decision: "approve" } }),
    ],
    [
      "subscribe to a new session",
      "GET",
      () => "/api/updates",
      () => ({ session: newSession(), headers: { Accept: "text/event-stream" } }),
    ],
    ["set model", "POST", () => "/api/control/model?rig=demo/assistant", () => ({ session: newSession() })],
    ["list Apps for a new session", "GET", () => "/api/control/apps", () => ({ session: newSession() })],
    [
      "upload a file",
      "POST",
      () => "/api/files",
      () => ({ session: known, body: "Two lines", headers: { "Content-Type": "text/plain" } }),
    ],
    ["set secrets", "PUT", () => "/api/secrets?client_id=me", () => ({ json: { TOKEN: "value" } })],
  ])(
    "rejects writes: %s gives 507 with Retry-After, and changes nothing",
    async (_name, method, path, call) => {
      const answer = await send(program.url, method, path(), call());
      expectProblem(answer, 507, "insufficient_storage");
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    },
  );

  it.each<[name: string, path: () => string, session: string]>([
    ["get state", () => "/api/state", known],
    ["get session", () => `/api/sessions/${known}`, known],
    ["list messages", () => `/api/sessions/${known}/messages`, known],
    ["list threads", () => "/api/sessions?public_key=0xnobody", known],
    ["list actions", () => "/api/actions", waiting],
    ["list models", () => "/api/control/models", known],
    ["list secrets", () => "/api/secrets?client_id=me", known],
  ])("still answers reads: %s", async (_name, path, session) => {
    expect((await send(program.url, "GET", path(), { session })).status).toBe(200);
  });

  it("streams stored events, stays alive, and reports that it is not ready", async () => {
    const stream = await open(program.url, "GET", "/api/updates", {
      session: known,
      headers: { Accept: "text/event-stream" },
    });
    expect(stream.statusCode).toBe(200);
    stream.destroy();
    expect((await send(program.url, "GET", "/healthz")).status).toBe(200);
    await expect.poll(async () => (await send(program.url, "GET", "/readyz")).status).toBe(503);
  });

  it("recovers when there is space, with everything unchanged", async () => {
    if (tracer === null) throw new Error("The disk is not full");
    tracer.kill("SIGTERM");
    await once(tracer, "exit");
    await expect.poll(async () => (await send(program.url, "GET", "/readyz")).status).toBe(200);
    const { messages, title } = await state(program.url, known);
    expect(messages).toHaveLength(2);
    expect(title).not.toBe("Other");
    const decided = await send(program.url, "POST", `/api/actions/${action}`, {
      session: waiting,
      json: { decision: "approve" },
    });
    expect(decided.status).toBe(200);
    expect((await whenIdle(program.url, waiting)).messages.at(-1)?.content).toContain("84");
    await chat(program.url, known, "and now?");
    expect((await whenIdle(program.url, known)).messages).toHaveLength(4);
  });
});

/** Returns the id of the session's pending action. */
async function askedAction(url: string, session: string): Promise<string> {
  return await vi.waitFor(async () => {
    const [action] = (await state(url, session)).pending_actions;
    if (action === undefined) throw new Error("No action is pending yet");
    return action.id;
  });
}

/** Once resolved, no thread of the process can write to a file by position, which only SQLite does. */
async function fillDisk(pid: number): Promise<ChildProcess> {
  const tracer = spawn(
    "strace",
    [
      "-f",
      "-e",
      "trace=pwrite64,ftruncate,fallocate",
      "-e",
      "inject=pwrite64,ftruncate,fallocate:error=ENOSPC",
      "-o",
      "/dev/null",
      "-p",
      String(pid),
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  for await (const line of createInterface({ input: tracer.stderr })) {
    if (line.includes("attached")) return tracer;
  }
  throw new Error("strace could not attach to the process");
}
