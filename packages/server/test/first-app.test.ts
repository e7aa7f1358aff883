// The example of docs/guides/first-app.md does what the guide says, with nothing but the demo model.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Action } from "@colloquy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { chat, send, settled } from "./black-box/client.ts";
import { Program } from "./black-box/server.ts";

let program: Program;
beforeAll(async () => {
  program = await Program.start(join(import.meta.dirname, "../../../examples/first-app/colloquy.config.ts"));
});
afterAll(() => program.remove());

async function say(session: string, message: string): Promise<string | undefined> {
  await chat(program.url, session, message);
  return (await settled(program.url, session)).messages.at(-1)?.content;
}

it("an own tool and one of an MCP server are called", async () => {
  const session = randomUUID();
  expect(await say(session, 'call lookup_order {"order": "A-17"}')).toContain("on its way");
  expect(await say(session, 'call stock_count {"article": "teapot"}')).toContain('3 pieces of "teapot"');
});

it("a call waits for a person, over a kill of the server, and runs when it is approved", async () => {
  const session = randomUUID();
  const actions = async () =>
    (await send(program.url, "GET", "/api/actions", { session })).as(z.array(Action));
  const waiting = await chat(program.url, session, 'call cancel_order {"order": "A-18"}', {
    headers: { Prefer: "wait=1" },
  });
  expect(waiting.pending_actions).toHaveLength(1);
  await program.stop("SIGKILL");
  await program.run();
  const [action] = await actions();
  expect(action).toMatchObject({ status: "pending", request: { input: { order: "A-18" } } });
  const decided = await send(program.url, "POST", `/api/actions/${action?.id}`, {
    session,
    json: { decision: "approve" },
  });
  expect(decided.status).toBe(200);
  const { messages } = await settled(program.url, session);
  expect(messages.at(-1)?.content).toContain("Order A-18 is cancelled.");
});
