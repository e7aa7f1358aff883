// Runs calls of client tools: two clients race for each, while servers fail.

import { setTimeout as sleep } from "node:timers/promises";
import type { PendingAction, Snapshot } from "@colloquy/protocol";
import type { Answer } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";
import type { ViolationKind } from "./violations.ts";

const TOOL = { description: "Takes a number", inputSchema: { type: "object" } };
/** The `clientTools` of the servers' App: the second may be claimed again after its claim has lapsed. */
export const CLIENT_TOOLS = { place: TOOL, look: { ...TOOL, repeatable: true } };

/** Share of calls that a person denies. */
const DENIED = 0.15;

/** A session as its clients reach it. Requests are repeated until answered. */
export interface CallingSession {
  readonly random: Random;
  state(): Promise<Snapshot>;
  post(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  report(kind: ViolationKind, about: string, detail: string): void;
}

/** Returns a message that makes the demo model call a client tool. */
export function callMessage(random: Random, serial: number): string {
  return `call ${random.pick(Object.keys(CLIENT_TOOLS))} {"number":${serial}}`;
}

/**
 * Waits for the session's call, runs it in one of two clients, and reports an output. Returns the call's id and the output once
 * that is acknowledged; `null` if the call was denied or is over for another reason, such as a late interrupt.
 */
export async function runCall(
  session: CallingSession,
  serial: number,
): Promise<{ readonly id: string; readonly output: unknown } | null> {
  const action = await pendingCall(session);
  if (action === null) return null;
  const path = `/api/actions/${action.id}`;
  if (session.random.chance(DENIED)) {
    await session.post(path, { decision: "deny" });
    return null;
  }
  const claim = await raceToClaim(session, action);
  if (claim === null) return null;
  await session.post(`${path}/claim`, { claim });
  const output = { number: serial };
  const { status } = await session.post(path, { decision: "approve", claim, result: { output } });
  return status === 200 ? { id: action.call_id, output } : null;
}

/** Returns the action of the call; `null` if the session becomes idle without one. */
async function pendingCall(session: CallingSession): Promise<PendingAction | null> {
  for (;;) {
    const { pending_actions, is_processing } = await session.state();
    const action = pending_actions.find(({ kind }) => kind === "client_tool");
    if (action !== undefined || !is_processing) return action ?? null;
    await sleep(50);
  }
}

/** Lets two clients claim the call at the same time. Returns the claim. */
async function raceToClaim(session: CallingSession, { id, call_id }: PendingAction): Promise<string | null> {
  const claiming = Array.from({ length: 2 }, () =>
    session.post(`/api/actions/${id}/claim`, {}, { "idempotency-key": session.random.uuid() }),
  );
  const answers = await Promise.all(claiming);
  const claims = answers
    .filter(({ status }) => status === 200)
    .map(({ body }) => (JSON.parse(body) as { readonly claim: string }).claim);
  if (claims.length > 1) session.report("claimed twice", call_id, "two clients may run it");
  if (answers.every(({ body }) => body.includes('"action_claimed"')))
    session.report("lost", call_id, "is claimed, but by none of its clients");
  return claims[0] ?? null;
}
