// Follows docs/guides/first-app.md exactly: its file, step by step, in a separate folder with the demo
// model.

import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Action } from "@colloquy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { chat, send, whenIdle, state } from "./black-box/client.ts";
import { Program } from "./black-box/server.ts";

const ROOT = join(import.meta.dirname, "../../..");

let folder: string;
let program: Program;

beforeAll(async () => {
  const guide = await readFile(join(ROOT, "docs/guides/first-app.md"), "utf8");
  const file = /```ts\n\/\/ colloquy\.config\.ts\n(.*?)```/s.exec(guide)?.[1] ?? "";
  folder = await mkdtemp(join(tmpdir(), "colloquy-first-app-"));
  // A folder in the repository resolves the repository's packages.
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "colloquy.config.ts"), file);
  program = await Program.start(join(folder, "colloquy.config.ts"));
});
afterAll(async () => {
  await program.remove();
  await rm(folder, { recursive: true, force: true });
});

async function say(session: string, message: string): Promise<string | undefined> {
  await chat(program.url, session, message);
  return (await whenIdle(program.url, session)).messages.at(-1)?.content;
}

it("calls a tool of its own", async () => {
  expect(await say(randomUUID(), 'call lookup_order {"order": "A-17"}')).toContain("on its way");
});

it("runs an approved call after the server was killed", async () => {
  const session = randomUUID();
  await chat(program.url, session, 'call cancel_order {"order": "A-18"}');
  await expect.poll(async () => (await state(program.url, session)).pending_actions).toHaveLength(1);
  await program.stop("SIGKILL");
  await program.run();
  const [action] = (await send(program.url, "GET", "/api/actions", { session })).as(z.array(Action));
  expect(action).toMatchObject({ status: "pending", request: { input: { order: "A-18" } } });
  const decided = await send(program.url, "POST", `/api/actions/${action?.id}`, {
    session,
    json: { decision: "approve" },
  });
  expect(decided.status).toBe(200);
  const { messages } = await whenIdle(program.url, session);
  expect(messages.at(-1)?.content).toContain("Order A-18 is cancelled.");
});
