// App keys at the endpoints for the AI SDK. test/isolation covers users, and every other caller.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import { bodyOf, chat, messagesOf, refused, textOf, userMessage } from "./ai-sdk-client.ts";
import { expectProblem, newSession, send, state } from "./client.ts";
import { Program } from "./server.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

let program: Program;
beforeAll(async () => {
  const app = {
    models: ["demo/assistant"],
    tools: ["calculator"],
    approvals: { calculator: "always" },
  };
  program = await Program.start({ apps: { default: app, defi: app, other: app } });
});
afterAll(() => program.remove());

/** Creates a key; returns it as a header. */
async function keyOf(...parameters: readonly string[]) {
  const all = [MAIN, "keys", "create", ...parameters, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, all, {
    cwd: program.directory,
    env: { ...BARE_ENVIRONMENT, ...program.environment },
  });
  return { headers: { "SERVICE-APP-KEY": (JSON.parse(stdout) as { key: string }).key } };
}

it("decides only with the key of the session's App, whatever the body names", async () => {
  const [own, other] = [await keyOf("--app", "defi"), await keyOf("--app", "other")];
  const session = newSession();
  const sent = userMessage("what is 12 * 7?");
  const asked = (await (await chat(program.url, bodyOf(session, [sent], { app: "defi" }), own)).message())!;
  const parts = asked.parts.map((part) =>
    part.type === "dynamic-tool" && part.state === "approval-requested"
      ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
      : part,
  );
  const answer = [{ ...asked, parts }];
  for (const app of [{}, { app: "default" }]) {
    expectProblem(await refused(program.url, bodyOf(session, answer, app)), 401, "app_key_invalid");
    expectProblem(await refused(program.url, bodyOf(session, answer, app), other), 403, "app_forbidden");
  }
  expectProblem(await refused(program.url, bodyOf(session, answer, { app: "other" }), other), 403);
  expect((await state(program.url, session, own)).pending_actions).toHaveLength(1);
  const done = await chat(program.url, bodyOf(session, answer), own);
  expect(done.chunks).toContainEqual(expect.objectContaining({ type: "tool-output-available" }));
});

it("allows chats with the scope chat, and shows messages only with the scope read", async () => {
  const [chats, reads] = [
    await keyOf("--app", "defi", "--scope", "chat"),
    await keyOf("--app", "defi", "--scope", "read"),
  ];
  const session = newSession();
  const body = bodyOf(session, [userMessage("hello")], { app: "defi" });
  expectProblem(await refused(program.url, body, reads), 403, "scope_missing");
  const stream = await chat(program.url, body, chats);
  expect(stream.chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  const answer = await stream.message();
  const messages = `/api/ai-sdk/chat/${session}/messages`;
  expectProblem(await send(program.url, "GET", messages, chats), 403, "scope_missing");
  expectProblem(await send(program.url, "GET", messages.replace("messages", "stream"), chats), 403);
  expect(textOf((await messagesOf(program.url, session, reads))[1])).toBe(textOf(answer));
});

it("rejects a session of another App with 409", async () => {
  const key = await keyOf("--app", "defi");
  const session = newSession();
  await chat(program.url, bodyOf(session, [userMessage("hello")], { app: "defi" }), key);
  expectProblem(await refused(program.url, bodyOf(session, [userMessage("hi")]), key), 409, "app_mismatch");
});
