// What the suites of the store's contract have in common: a store that is opened and closed around the tests, and short ways
// to say what happens in it.

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import type { ChatInput } from "../../core/decisions/chat.ts";
import type { TurnClaim } from "../../core/decisions/turns.ts";
import type { Committed, SessionTarget, StoredSession } from "../../core/ports/session-store.ts";
import type { Store } from "../../core/ports/store.ts";
import type { NumberedEvent } from "../../core/session-event.ts";
import type { SessionRecord } from "../../core/session.ts";
import { NO_USAGE, type StartedTurn, type StepRecord, type TurnIdentity } from "../../core/turn.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens it again on what it kept; `null` where it keeps nothing. */
  readonly reopen: (() => Promise<Store>) | null;
  /** Removes what is left when the store is closed. */
  dispose(): Promise<void>;
}

/** Opens a store with nothing in it, whose time is the clock's. */
export type OpenStore = (clock: ManualClock) => Promise<OpenedStore>;

export interface Given {
  clock: ManualClock;
  store: Store;
  reopen: (() => Promise<Store>) | null;
}

/** A store for each test, or one for all of a block, whose tests then keep to sessions of their own. */
export function givenStore(openStore: OpenStore, scope: "each" | "all"): Given {
  const given = {} as Given;
  let opened: OpenedStore;
  const open = async () => {
    const clock = new ManualClock();
    opened = await openStore(clock);
    Object.assign(given, { clock, store: opened.store, reopen: opened.reopen });
  };
  const close = async () => {
    await given.store.close();
    await opened.dispose();
  };
  if (scope === "each") {
    beforeEach(open);
    afterEach(close);
  } else {
    beforeAll(open);
    afterAll(close);
  }
  return given;
}

export const MODEL = "demo/assistant";

export function newLife(): string {
  return randomUUID().replaceAll("-", "");
}

/** A session that begins its life if there is none. */
export function target(id: string, load = false): SessionTarget {
  return { id, birth: { life: newLife(), model: MODEL }, load };
}

/** A session that must exist. */
export function existing(id: string, load = false): SessionTarget {
  return { id, birth: null, load };
}

export const NOTHING = { userState: null, publicKey: null };

export function claimOf(owner = "owner"): TurnClaim {
  return { owner, agentMessageId: randomUUID() };
}

export function chatInput(text: string, overrides: Partial<ChatInput> = {}): ChatInput {
  return {
    app: "default",
    messageId: randomUUID(),
    text,
    publicKey: null,
    userState: null,
    clientId: null,
    onBusy: "enqueue",
    maxQueued: 10,
    models: [MODEL],
    claim: null,
    fullProviders: [],
    streamed: null,
    idempotency: null,
    ...overrides,
  };
}

export function chat(store: Store, id: string, text: string, overrides: Partial<ChatInput> = {}) {
  return store.turns.chat(target(id), chatInput(text, overrides));
}

/** A chat whose turn starts at once. */
export async function startTurn(
  store: Store,
  id: string,
  text: string,
  overrides: Partial<ChatInput> = {},
): Promise<StartedTurn> {
  const { outcome } = await chat(store, id, text, { claim: claimOf(), ...overrides });
  expect(outcome).toMatchObject({ kind: "accepted", started: { userText: text } });
  if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
  return outcome.started;
}

export function identityOf({ sessionId, sessionKey, turn, epoch }: TurnIdentity): TurnIdentity {
  return { sessionId, sessionKey, turn, epoch };
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

export async function complete(store: Store, turn: TurnIdentity, text: string) {
  const committed = await store.turns.complete(identityOf(turn), step(1, text));
  expect(committed).not.toBeNull();
  return committed as Committed<"ok">;
}

/** The session as the store has it; a session that does not exist fails the test. */
export async function load(store: Store, id: string): Promise<StoredSession> {
  const committed = await store.sessions.open(existing(id, true), NOTHING);
  expect(committed?.created).toBe(false);
  return committed?.loaded as StoredSession;
}

export async function record(store: Store, id: string): Promise<SessionRecord> {
  const session = await store.sessions.find(id);
  expect(session).not.toBeNull();
  return session as SessionRecord;
}

/** The whole log of a session, read in pages. */
export async function allEvents(store: Store, id: string, pageSize = 50): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (;;) {
    const page = await store.events.after(id, events.at(-1)?.number ?? 0, pageSize);
    expect(page).not.toBeNull();
    events.push(...(page?.events ?? []));
    if ((page?.events.length ?? 0) < pageSize) return events;
  }
}

/** Everything of a session that a transaction could have changed. */
export async function everything(store: Store, id: string) {
  return { ...(await load(store, id)), events: await allEvents(store, id) };
}

export function types(events: readonly NumberedEvent[]): readonly string[] {
  return events.map(({ event }) => event.type);
}
