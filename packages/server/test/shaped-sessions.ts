// Edits and copies of the interleavings tests, on one node and on several, and what must hold after them.

import type { Message, PendingAction, Snapshot } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import { MAX_ATTEMPTS } from "@colloquy/engine/internal/core/turn";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { questionOf } from "./scripted-answers.ts";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { recordsOf, type TestService } from "./service.ts";

/** A session and what was acknowledged about its present incarnation. */
export interface AcknowledgedSession {
  readonly id: string;
  /** Messages in order. Each text is "message" and a number that no other has. */
  texts: string[];
  /** Messages as returned by an interrupt, an edit or a copy: they must not change afterwards. */
  sealed: Message[];
  title: string | null;
  /** True after an edit, and in a copy: notices of failed answers may be missing, and a stream that lags may get `resync`. */
  isShaped: boolean;
}

/** Replaces one of the last four messages of the session, whose turn may run or wait. Returns what is wrong. */
export async function editOne(
  service: TestService,
  session: AcknowledgedSession,
  text: string,
  choice: number,
): Promise<readonly string[]> {
  const { id } = session;
  const epoch = async (): Promise<number> => (await service.store.sessions.find(id))?.epoch ?? 0;
  const [before, epochBefore] = [await service.snapshot(id), await epoch()];
  const users = before.messages.filter(({ sender }) => sender === "user");
  const place = users.length - 1 - (choice % 4);
  const replaced = users[place];
  if (replaced === undefined) return [];
  const after = await service.say(id, text, { replaces: replaced.id });
  const at = after.messages.findIndex(({ content, sender }) => sender === "user" && content === text);
  session.texts = [...session.texts.slice(0, place), text];
  // Nothing runs any more, so that all before the new message is final.
  session.sealed = after.messages.slice(0, at);
  session.isShaped = true;
  const found: string[] = [];
  if ((await epoch()) <= epochBefore) found.push(`the epoch is still ${epochBefore} after ${text}`);
  if (after.pending_actions.length > 0) found.push(`${text} has left pending actions`);
  for (const action of before.pending_actions) {
    const outcome = await service.actions
      .decide(id, action.id, { decision: "approve", result: null }, null)
      .then(({ status }) => status, codeOf);
    if (outcome === "approved") found.push(`an action from before ${text} could be approved`);
  }
  return [...found, ...(await removedIn(service, session))];
}

/** Decides an action of the session, if any, or runs its call in a client. Returns what is wrong. */
export async function decideOne(
  service: TestService,
  id: string,
  decision: "approve" | "deny",
  choice: number,
): Promise<readonly string[]> {
  const { pending_actions: pending } = await service.snapshot(id);
  const action = pending[choice % Math.max(1, pending.length)];
  if (action === undefined) return [];
  const isDue = service.clock.now() >= Date.parse(action.expires_at);
  if (action.kind === "client_tool") return await claimAndReport(service, id, action, { isDue, choice });
  const outcome = await service.actions
    .decide(id, action.id, { decision, result: null }, null)
    .then(({ status }) => status, codeOf);
  const expected = isDue ? "action_expired" : decision === "approve" ? "approved" : "denied";
  return outcome === expected ? [] : [`an answer to "${decision}" was ${outcome}, not ${expected}`];
}

/** Claims the call of a client tool. Gives its result, or leaves the claim to lapse. Returns what is wrong. */
async function claimAndReport(
  { actions }: TestService,
  id: string,
  { id: action, claim_expires_at: claimed }: Extract<PendingAction, { kind: "client_tool" }>,
  { isDue, choice }: { readonly isDue: boolean; readonly choice: number },
): Promise<readonly string[]> {
  const expected = isDue ? "action_expired" : claimed === null ? null : "action_claimed";
  const outcome = await actions.claim(id, action, {}, null).catch(codeOf);
  const code = typeof outcome === "string" ? outcome : null;
  if (code !== expected) return [`a claim was answered ${code}, not ${expected}`];
  if (typeof outcome === "string") return [];
  const second = await actions.claim(id, action, {}, null).catch(codeOf);
  if (second !== "action_claimed") return ["an action was claimed twice"];
  if (choice % 3 === 0) return [];
  const answer = { decision: "approve", claim: outcome.claim, result: { output: choice } } as const;
  const { status } = await actions.decide(id, action, answer, null);
  return status === "approved" ? [] : [`a result under the live claim was ${status}`];
}

/** Copies a session into an empty one, all of it or through a message. Returns what is wrong. */
export async function forkInto(
  service: TestService,
  origin: AcknowledgedSession,
  copy: AcknowledgedSession,
  choice: number,
): Promise<readonly string[]> {
  const before = await service.snapshot(origin.id);
  const through = before.messages[choice]?.id ?? null;
  const outcome = await service.threads
    .fork(origin.id, { session: copy.id, through, admit: null }, ANONYMOUS, null)
    .then(() => "copied", codeOf);
  const after = await service.snapshot(origin.id);
  const { messages } = await service.snapshot(copy.id);
  copy.texts = messages.filter(({ sender }) => sender === "user").map(({ content }) => content);
  copy.sealed = messages;
  copy.isShaped = true;
  copy.title = outcome === "copied" ? origin.title : null;
  // Other nodes may have gone on with the origin's turns before or after the copy was made.
  const expected = [before, after].map((snapshot) => describeCopy(finishedOf(snapshot, through)));
  const made = describeCopy(outcome === "copied" ? messages : null);
  const found: string[] = [];
  if (outcome !== "copied" && outcome !== "turn_not_finished") found.push(`a copy was answered ${outcome}`);
  if (!expected.includes(made)) found.push(`a copy is ${made} instead of ${expected.join(" or ")}`);
  const [one, other] = [before, after].map((snapshot) => JSON.stringify(withoutText(snapshot).messages));
  if (before.last_event_id === after.last_event_id && one !== other)
    found.push(`a copy has changed its origin from ${one} to ${other}`);
  return found;
}

/** Returns texts in the snapshot and records of a session that are not among its messages, but removed or refused. */
export async function removedIn(
  service: TestService,
  session: AcknowledgedSession,
): Promise<readonly string[]> {
  // A generated title stays when the message that it was taken from goes.
  const snapshot = { ...(await service.snapshot(session.id)), title: null };
  const records = await recordsOf(service, session.id, null, 1_000, null);
  return [...unknownIn("a snapshot", snapshot, session), ...unknownIn("the records", records, session)];
}

/** Returns texts that are not among the session's messages. */
export function unknownIn(
  what: string,
  value: unknown,
  { texts }: Pick<AcknowledgedSession, "texts">,
): string[] {
  const known = new Set(texts);
  const quoted = new Set(JSON.stringify(value).match(/\bmessage \d+/g));
  return [...quoted]
    .filter((text) => !known.has(text))
    .map((text) => `${what} has ${text}, which is removed`);
}

/** Returns texts in the prompt of a call that are not among the messages of its session. */
export function unknownInPrompt(call: ScriptedCall, sessions: readonly AcknowledgedSession[]): string[] {
  const asked = sessions.find(({ texts }) => texts.includes(questionOf(call)));
  return unknownIn("a prompt", call.prompt, asked ?? { texts: [] });
}

/** Returns sealed messages that have changed. */
export function changedIn({ sealed }: AcknowledgedSession, { messages }: Snapshot): string[] {
  return sealed.flatMap((message) => {
    const [now, then] = [messages.find(({ id }) => id === message.id), message].map((one) =>
      JSON.stringify(one),
    );
    return now === then ? [] : [`a final message is ${now} instead of ${then}`];
  });
}

/** Returns what is wrong in an idle session. */
export async function violationsIn(
  service: TestService,
  session: AcknowledgedSession,
  crashes: number,
): Promise<string[]> {
  const snapshot = await service.snapshot(session.id);
  const removed = await removedIn(service, session);
  return [...removed, ...changedIn(session, snapshot), ...unansweredIn(session, snapshot, crashes)];
}

/** Returns true if the turn of the user's message has read another one after it, which its answer is to. */
export function isSteered({ id, turn }: Message, messages: readonly Message[]): boolean {
  const later = messages.slice(messages.findIndex((message) => message.id === id) + 1);
  return later.some((message) => message.turn === turn && message.steering?.status === "read");
}

/** Every message has one answer, except sealed ones and those whose turn crashed three times. */
function unansweredIn({ sealed }: AcknowledgedSession, { messages }: Snapshot, crashes: number): string[] {
  const answered = messages.filter(({ status }) => status === "complete").map(({ content }) => content);
  const failed = messages.filter(({ status }) => status === "failed").length;
  const found = failed > crashes / MAX_ATTEMPTS ? [`${failed} turns failed`] : [];
  let unanswered = 0;
  for (const user of messages.filter(({ sender }) => sender === "user")) {
    const answers = answered.filter((content) => content.endsWith(`answer to ${user.content}`)).length;
    if (answers > 1) found.push(`${user.content} has ${answers} answers`);
    if (answers === 0 && !sealed.some(({ id }) => id === user.id) && !isSteered(user, messages))
      unanswered += 1;
  }
  if (unanswered > failed) found.push(`${unanswered} messages have no answer`);
  return found;
}

/** Ignores differences in streaming text: a node without text yet leaves out an answer without calls. */
export function withoutText(snapshot: Snapshot): Snapshot {
  const messages = snapshot.messages
    .filter(({ status, tool_calls: calls }) => status !== "streaming" || calls !== undefined)
    .map((message) => (message.status === "streaming" ? { ...message, content: "" } : message));
  return { ...snapshot, messages };
}

/** The messages of finished turns through the turn of a message; `null` if that one is not finished. */
function finishedOf({ messages }: Snapshot, through: string | null): readonly Message[] | null {
  const last = messages.find(({ id }) => id === through)?.turn ?? null;
  const isFinished = (turn: number | undefined): boolean => {
    const parts = messages.filter((message) => message.turn === turn);
    // An answer without text is not shown while it streams.
    if (parts.findLast(({ sender }) => sender === "agent")?.steps?.to !== undefined) return false;
    const ends = parts.filter(({ sender, status }) => sender === "agent" || status === "interrupted");
    return ends.length > 0 && parts.every(({ status }) => status !== "streaming" && status !== "queued");
  };
  if (last !== null && !isFinished(last)) return null;
  return messages.filter(({ turn }) => isFinished(turn) && (turn ?? 0) <= (last ?? Infinity));
}

/** The copied messages have ids of their own. */
function describeCopy(messages: readonly Message[] | null): string {
  return JSON.stringify(messages?.map((message) => ({ ...message, id: "" })) ?? "not made");
}

function codeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  throw error;
}
