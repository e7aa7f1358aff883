// Answers that wait for an approval, for the tests of actions.

import { Action, type Snapshot } from "@colloquy/protocol";
import { expect } from "vitest";
import { z } from "zod";
import { chat, send, state } from "./client.ts";

/** Returns the snapshot of a session whose answer waits for an approval. */
export async function waiting(url: string, session: string): Promise<Snapshot> {
  await chat(url, session, "what is 12 * 7?");
  await expect.poll(async () => (await state(url, session)).pending_actions.length).toBe(1);
  return await state(url, session);
}

/** Sends a decision on an action. */
export function decide(url: string, session: string, id: string, body: unknown) {
  return send(url, "POST", `/api/actions/${id}`, { session, json: body });
}

/** Returns the actions of a session. */
export async function list(url: string, session: string): Promise<Action[]> {
  const answer = await send(url, "GET", "/api/actions", { session });
  expect(answer.status).toBe(200);
  return answer.as(z.array(Action));
}
