// Tools that run in the client, and what people do with their calls: claim them in one or two clients, renew, lose the claim, deny, report.

import type { ActionClaim, PendingAction } from "@colloquy/protocol";
import { DENIED, type CallLedger, type CallOutcome } from "./call-ledger.ts";
import type { Answer } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";
import type { Done } from "./report.ts";
import type { ViolationKind } from "./violations.ts";

const INPUT = { inputSchema: { type: "object" } };
/** Setting `clientTools` of the App. A claim of `press_soon` lapses with its action, so that people need not wait for long. */
export const CLIENT_TOOLS = {
  press: { description: "Presses a button", ...INPUT },
  press_soon: { description: "Presses a button at once", ...INPUT, timeoutMs: 6_000 },
  look: { description: "Looks at a button", ...INPUT, repeatable: true },
} as const;

/** Shares of the clients that see a call. */
const DENIES = 0.1;
/** Without a key, a claim whose answer is lost is held by nobody. */
const KEYED = 0.5;
const RENEWS = 0.3;
/** Most lost claims end soon, because the others hold up their session for 30 seconds. */
const LOSES = { press: 0.02, press_soon: 0.25, look: 0.02 };
const FAILS = 0.2;
/** Share of the clients without a claim that report nevertheless. */
const INTRUDES = 0.3;
/** Share of the calls that two clients see at once. */
const SEEN_BY_TWO = 0.4;

type ClientCall = Extract<PendingAction, { kind: "client_tool" }>;

export interface CallUser {
  readonly random: Random;
  readonly calls: CallLedger;
  readonly done: Pick<Done, "claims">;
  /** Whether no claim is lost on purpose. */
  readonly isDiligent: boolean;
  /** Posts until answered. */
  readonly post: (path: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  /** Returns a new moment of the session's ledger. */
  readonly now: () => number;
  readonly report: (kind: ViolationKind, about: string, detail: string) => void;
}

/** Resolves when every client is done with the call, which may still be pending. */
export async function runCall(action: ClientCall, user: CallUser): Promise<void> {
  const clients = user.random.chance(SEEN_BY_TWO) ? 2 : 1;
  await Promise.all(Array.from({ length: clients }, () => runInClient(action, user)));
}

async function runInClient(action: ClientCall, user: CallUser): Promise<void> {
  const { random, isDiligent } = user;
  if (random.chance(DENIES)) return await decide(action, user, null, DENIED);
  const token = await claim(action, user, null);
  const outcome = { output: `the result ${random.uuid()}`, is_error: random.chance(FAILS) };
  if (token === null) {
    if (random.chance(INTRUDES)) await decide(action, user, random.uuid(), outcome);
    return;
  }
  if (!isDiligent && random.chance(LOSES[toolOf(action)])) return;
  if (random.chance(RENEWS)) await claim(action, user, token);
  await decide(action, user, token, random.chance(DENIES) ? DENIED : outcome);
}

/** Returns the token of the claim that was granted or renewed; `null` if it was refused. */
async function claim(action: ClientCall, user: CallUser, renews: string | null): Promise<string | null> {
  const { call_id: id } = action;
  const key = renews === null && user.random.chance(KEYED) && { "idempotency-key": user.random.uuid() };
  const answer = await user.post(`/api/actions/${action.id}/claim`, { claim: renews }, { ...key });
  if (answer.status !== 200) return checkRefusal(action, user, renews, answer);
  const { claim: token, expires_at } = JSON.parse(answer.body) as ActionClaim;
  const until = Date.parse(expires_at);
  if (renews === null) user.done.claims += 1;
  const problem =
    renews === null
      ? user.calls.grant(id, isRepeatable(action), token, until)
      : user.calls.renew(id, token, until);
  note(action, user, problem);
  return token;
}

async function decide(
  action: ClientCall,
  user: CallUser,
  token: string | null,
  outcome: CallOutcome,
): Promise<void> {
  const { call_id: id } = action;
  const { output, is_error } = outcome;
  const decision =
    outcome === DENIED
      ? { decision: "deny" }
      : { decision: "approve", result: is_error ? { error: output } : { output } };
  user.calls.send(id, isRepeatable(action), token, outcome);
  const answer = await user.post(`/api/actions/${action.id}`, { ...decision, claim: token });
  if (answer.status !== 200) checkRefusal(action, user, token, answer);
  else note(action, user, user.calls.acknowledge(id, token, outcome, Date.now(), user.now()));
}

/** A call may be another client's, or over, but not for the client with a live claim, unless its turn was stopped. */
function checkRefusal(action: ClientCall, user: CallUser, token: string | null, answer: Answer): null {
  const isHeld = token !== null && user.calls.holds(action.call_id, token, Date.now());
  const isAllowed = answer.status === 410 ? !isHeld : answer.status === 409;
  if (!isAllowed || (isHeld && !answer.body.includes("action_cancelled")))
    user.report("wrong answer", `${action.tool} ${answer.status}`, answer.body.slice(0, 300));
  return null;
}

function note(action: ClientCall, user: CallUser, problem: string | null): void {
  if (problem !== null) user.report("claimed twice", action.call_id, `${action.tool}: ${problem}`);
}

function toolOf({ tool }: ClientCall): keyof typeof CLIENT_TOOLS {
  if (!Object.hasOwn(CLIENT_TOOLS, tool)) throw new Error(`The App has no client tool ${tool}`);
  return tool as keyof typeof CLIENT_TOOLS;
}

function isRepeatable(action: ClientCall): boolean {
  return "repeatable" in CLIENT_TOOLS[toolOf(action)];
}
