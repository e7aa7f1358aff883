// Helpers for common operations on a store, for its contract suites and other tests.

import { randomUUID } from "node:crypto";
import type { AskedAction } from "../../../core/action.ts";
import type { ChatInput } from "../../../core/commands/chat.ts";
import { plainChat } from "../../../core/commands/testing/plain-chat.ts";
import type { ClaimActionInput } from "../../../core/commands/claim-action.ts";
import type { SessionTarget } from "../../../core/commands/command.ts";
import type { OpenInput } from "../../../core/commands/open.ts";
import type { ActionAnswer } from "../../../core/commands/decide-action.ts";
import type { TurnClaim } from "../../../core/commands/turns.ts";
import type { MessageRecord, ToolCallRecord } from "../../../core/message.ts";
import type { StoredSession } from "../../../core/ports/driven/session-store.ts";
import type { Store } from "../../../core/ports/driven/store.ts";
import type { NumberedEvent } from "../../../core/session-event.ts";
import type { SessionRecord } from "../../../core/session.ts";
import { NO_USAGE, type StartedTurn, type StepRecord, type TurnIdentity } from "../../../core/turn.ts";

export const MODEL = "demo/assistant";

export function newIncarnation(): string {
  return randomUUID().replaceAll("-", "");
}

/** Returns the target of a session, which is created if it does not exist. */
export function target(id: string, load = false) {
  return { session: id, birth: { incarnation: newIncarnation(), model: MODEL }, load, access: null };
}

/** Returns the target of a session that must exist. */
export function existing(id: string, load = false) {
  return { session: id, birth: null, load, access: null };
}

export const NOTHING = { userState: null, publicKey: null };

/** Opens a session, as a page that loads does; by default without user state and wallet. */
export function open(store: Store, to: SessionTarget, input: OpenInput = NOTHING) {
  return store.execute({ kind: "open", target: to, input });
}

export function rename(store: Store, to: SessionTarget, title: string) {
  return store.execute({ kind: "rename", target: to, input: { title } });
}

export function remove(store: Store, to: SessionTarget) {
  return store.execute({ kind: "delete", target: to, input: null });
}

export const APPROVE = { decision: "approve", result: null } as const;
export const DENY = { decision: "deny", result: null } as const;

/** Decides the action of a session. */
export function decide(store: Store, to: SessionTarget, action: string, decided: ActionAnswer) {
  return store.execute({ kind: "decideAction", target: to, input: { action, ...decided } });
}

/** Records the use of incarnations. Returns the ids of those that have ended. */
export async function touch(
  store: Store,
  used: readonly { readonly id: string; readonly incarnation: string }[],
): Promise<readonly string[]> {
  const noted = await Promise.all(
    used.map(({ id, incarnation }) =>
      store.execute({ kind: "noteUse", target: { session: id, incarnation }, input: null }),
    ),
  );
  return used.flatMap(({ id }, index) => (noted[index] === null ? [id] : []));
}

export function claimOf(owner = "owner"): TurnClaim {
  return { owner, agentMessageId: randomUUID() };
}

export function chatInput(text: string, overrides: Partial<ChatInput> = {}): ChatInput {
  return { ...plainChat(text, [MODEL]), ...overrides };
}

export function chat(store: Store, id: string, text: string, overrides: Partial<ChatInput> = {}) {
  return chatWith(store, target(id), chatInput(text, overrides));
}

/** Sends a chat that may create its session. */
export async function chatWith(store: Store, to: SessionTarget, input: ChatInput) {
  const committed = await store.execute({ kind: "chat", target: to, input });
  if (committed === null) throw new Error("There is no such session, and none was created");
  const { outcome } = committed;
  if (typeof outcome === "string") throw new Error(`The session is hidden: ${outcome}`);
  return { ...committed, outcome };
}

/** Returns access to the sessions of these Apps without a user. */
export function accessTo(...apps: readonly string[]) {
  return { apps, user: null };
}

/** Binds the session to the App, with one message and no open turn. */
export async function bindTo(store: Store, id: string, app: string): Promise<void> {
  await chat(store, id, "hello", { app });
  await store.execute({ kind: "interrupt", target: target(id), input: { streamed: null } });
}

/** Sends a chat whose turn starts at once. */
export async function startTurn(
  store: Store,
  id: string,
  text: string,
  overrides: Partial<ChatInput> = {},
): Promise<StartedTurn> {
  const { outcome } = await chat(store, id, text, { claim: claimOf(), ...overrides });
  if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
  return outcome.started;
}

export function identityOf({ sessionId, sessionKey, number, epoch }: TurnIdentity): TurnIdentity {
  return { sessionId, sessionKey, number, epoch };
}

export function step(number: number, text: string, overrides: Partial<StepRecord> = {}): StepRecord {
  return {
    number,
    text,
    parts: [{ type: "text", text }],
    usage: NO_USAGE,
    finishReason: "stop",
    ...overrides,
  };
}

export function callOf(id: string, overrides: Partial<ToolCallRecord> = {}): ToolCallRecord {
  return {
    id,
    name: `tool_${id}`,
    arguments: { of: id },
    status: "running",
    effect: "read",
    step: 1,
    ...overrides,
  };
}

/** Returns an action for a call, by default an approval. */
export function askOf(callId: string, overrides: Partial<AskedAction> = {}): AskedAction {
  const approval = { kind: "approval", request: { tool: `tool_${callId}`, input: { of: callId } } } as const;
  return { id: randomUUID(), callId, asked: approval, validMs: 600_000, ...overrides };
}

/** Returns the request of a tool that runs in the client. */
export function clientToolOf({ repeatable = false } = {}): AskedAction["asked"] {
  return { kind: "client_tool", request: { tool: "tool_a", input: { of: "a" } }, repeatable };
}

/** Claims an action, or renews its claim. */
export function claimAction(
  store: Store,
  to: SessionTarget,
  action: string,
  input: Partial<ClaimActionInput> = {},
) {
  const claim = { action, renews: null, token: randomUUID(), ...input };
  return store.execute({ kind: "claimAction", target: to, input: claim });
}

export async function complete(store: Store, turn: TurnIdentity, text: string) {
  return present(
    await store.execute({
      kind: "complete",
      target: { turn: identityOf(turn) },
      input: { step: step(1, text) },
    }),
  );
}

/** Starts the oldest waiting turns, one at most per id of a message. */
export function claimTurns(store: Store, { owner = "owner", count = 1 } = {}) {
  return store.executeEach({
    kind: "claimTurns",
    owner,
    agentMessageIds: Array.from({ length: count }, () => randomUUID()),
    fullProviders: [],
    models: {},
  });
}

/** Creates a session whose turn waits for the actions of these unsafe calls. */
export async function waitFor(
  store: Store,
  ...asked: readonly AskedAction[]
): Promise<{ readonly id: string; readonly turn: StartedTurn }> {
  const id = randomUUID();
  const turn = await startTurn(store, id, "go");
  const calls = asked.map(({ callId }) => callOf(callId, { effect: "unsafe" }));
  await store.execute({
    kind: "stepWithCalls",
    target: { turn: identityOf(turn) },
    input: { step: step(1, "Let me ask."), calls, asked },
  });
  await store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null });
  return { id, turn };
}

/** Returns the stored session; fails the test if it does not exist. */
export async function load(store: Store, id: string): Promise<StoredSession> {
  return present(
    present(await store.execute({ kind: "open", target: existing(id, true), input: NOTHING })).loaded,
  );
}

export async function record(store: Store, id: string): Promise<SessionRecord> {
  const { unusedMs: _, ...session } = present(await store.sessions.find(id));
  return session;
}

/** Returns up to `limit` messages of a session after the one with id `after`. */
export async function messagesOf(
  store: Store,
  id: string,
  after: string | null = null,
  limit = 10,
): Promise<readonly MessageRecord[]> {
  const messages = await store.sessions.messages(id, after, limit, null);
  if (typeof messages === "string") throw new Error(`The session is hidden: ${messages}`);
  return present(messages);
}

/** Returns the whole log of a session, read in pages. */
export async function allEvents(store: Store, id: string, pageSize = 50): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (;;) {
    const page = present(await store.events.after(id, events.at(-1)?.number ?? 0, pageSize));
    events.push(...page.events);
    if (page.events.length === 0 || events.at(-1)?.number === page.head) return events;
  }
}

/** Returns all data of a session that a transaction could have changed. */
export async function everything(store: Store, id: string) {
  return { ...(await load(store, id)), events: await allEvents(store, id) };
}

export function types(events: readonly NumberedEvent[]): readonly string[] {
  return events.map(({ event }) => event.type);
}

function present<Value>(value: Value | null): Value {
  if (value === null) throw new Error("There is no such session, or its turn may not write any more");
  return value;
}
