// Stores a session as one document: applies drafts to it and reads the facts for commands from it.

import type { ActionRecord } from "../../core/action.ts";
import { type Needs, type Origin, partialTextOf, type StoredFacts } from "../../core/commands/command.ts";
import type { Removal, SessionDraft, TurnStep, UsedKey } from "../../core/commands/draft.ts";
import { TITLE_LEASE_MS } from "../../core/commands/finish-title.ts";
import type { MessageRecord } from "../../core/message.ts";
import { type FileRecord, UNUSED_FILE_MS } from "../../core/file.ts";
import type { StoredSession } from "../../core/ports/driven/session-store.ts";
import { EVENT_LOG_CUT_BYTES, EVENT_LOG_MAX_BYTES } from "../../core/ports/driven/store.ts";
import { SYSTEM_EVENTS_SHOWN, type SystemEventRecord } from "../../core/session-event.ts";
import type { SessionRecord } from "../../core/session.ts";
import { withoutWrongTypes } from "../../core/user-state.ts";
import { LEASE_MS, type OpenTurn, openTurnOf, type TurnRecord } from "../../core/turn.ts";

/** A session with all its records. Lists are sorted by number. */
export interface SessionDocument {
  readonly session: SessionRecord;
  /** Time of the last use, in milliseconds since the Unix epoch. */
  readonly usedAt: number;
  readonly messages: readonly MessageRecord[];
  readonly turns: readonly TurnRecord[];
  readonly steps: readonly TurnStep[];
  readonly actions: readonly ActionRecord[];
  /** Absent in documents of earlier versions. */
  readonly files?: readonly FileRecord[];
  readonly events: readonly { readonly number: number; readonly at: number; readonly text: string }[];
  /** Sequence number of the last removed event. */
  readonly floor: number;
  readonly systemEvents: readonly SystemEventRecord[];
  readonly checkpoints: readonly { readonly turn: number; readonly offset: number; readonly text: string }[];
  readonly usedKeys: readonly (UsedKey & { readonly key: string })[];
  readonly lease: {
    readonly owner: string;
    readonly epoch: number;
    readonly takenAt: number;
    readonly expiresAt: number;
  } | null;
  /**
   * Time at which the title job is due, in milliseconds since the Unix epoch; `null` if no title is needed.
   */
  readonly titleDueAt: number | null;
  /** `null` or absent if there is no summary job. */
  readonly summaryJob?: { readonly dueAt: number; readonly attempts: number; readonly budget: number } | null;
}

export function newDocument(session: SessionRecord, at: number): SessionDocument {
  return {
    session,
    usedAt: at,
    messages: [],
    turns: [],
    steps: [],
    actions: [],
    events: [],
    floor: 0,
    systemEvents: [],
    checkpoints: [],
    usedKeys: [],
    lease: null,
    titleDueAt: null,
  };
}

/** Returns the document after a draft, which must not remove the session. */
export function withDraft(before: SessionDocument, draft: SessionDraft): SessionDocument {
  const { at } = draft;
  const { userState } = draft.session;
  const session =
    userState === null || userState === before.session.userState
      ? draft.session
      : { ...draft.session, userState: withoutWrongTypes(userState) };
  const kept = draft.removal === null ? before : withoutTail(before, draft.removal, at);
  const joined = new Map(draft.mergedTurns.map(({ turn, into }) => [turn, into]));
  const floor = draft.floor ?? kept.floor;
  const logged = draft.events.map(({ number }, index) => ({
    number,
    at,
    text: draft.eventTexts[index] ?? "",
  }));
  const after: SessionDocument = {
    session,
    usedAt: at,
    messages: merged(kept.messages, draft.addedMessages, draft.changedMessages, ({ position }) => position),
    turns: merged(kept.turns, draft.addedTurns, draft.changedTurns, ({ number }) => number).filter(
      ({ number }) => !joined.has(number),
    ),
    steps: withSteps(kept.steps, draft.addedSteps),
    files: merged(kept.files ?? [], draft.addedFiles, draft.changedFiles, ({ id }) => id),
    actions: merged(kept.actions, draft.addedActions, draft.changedActions, ({ id }) => id),
    events: [...(draft.floor === null ? kept.events : []), ...logged].filter(({ number }) => number > floor),
    floor,
    systemEvents: [...kept.systemEvents, ...draft.systemEvents].slice(-SYSTEM_EVENTS_SHOWN),
    checkpoints: kept.checkpoints.filter(({ turn }) => !draft.obsoleteCheckpoints.has(turn)),
    usedKeys: draft.usedKeys.reduce<SessionDocument["usedKeys"]>(
      (keys, added) => [...keys.filter(({ key }) => key !== added.key), added],
      kept.usedKeys.map((used) => ({ ...used, turn: joined.get(used.turn) ?? used.turn })),
    ),
    lease: leaseAfter(kept.lease, draft),
    titleDueAt: draft.wantsTitle
      ? at + TITLE_LEASE_MS
      : session.titleSource === "placeholder"
        ? kept.titleDueAt
        : null,
    summaryJob:
      kept.summaryJob ??
      (draft.summaryBudget === null ? null : { dueAt: at, attempts: 0, budget: draft.summaryBudget }),
  };
  return draft.events.length > 0 && (session.eventBytes ?? 0) > EVENT_LOG_MAX_BYTES
    ? withShorterLog(after)
    : after;
}

function leaseAfter(lease: SessionDocument["lease"], { lease: change, at }: SessionDraft): typeof lease {
  if (change === null) return lease;
  if (change.kind === "released") return null;
  return { owner: change.owner, epoch: change.epoch, takenAt: at, expiresAt: at + LEASE_MS };
}

function merged<Item, Key>(
  before: readonly Item[],
  added: readonly Item[],
  changed: ReadonlyMap<Key, Item>,
  keyOf: (item: Item) => Key,
): readonly Item[] {
  if (added.length === 0 && changed.size === 0) return before;
  return [...before.map((item) => changed.get(keyOf(item)) ?? item), ...added];
}

/**
 * Appends steps. Throws for a step that exists, so that two processes that run the same turn cannot both
 * write it.
 */
function withSteps(before: readonly TurnStep[], added: readonly TurnStep[]): readonly TurnStep[] {
  for (const { turn, step } of added)
    if (before.some((other) => other.turn === turn && other.step.number === step.number))
      throw new Error(`Turn ${turn} has a step ${step.number} already`);
  return [...before, ...added];
}

function withoutTail(document: SessionDocument, removal: Removal, at: number): SessionDocument {
  const gone = new Set(removal.turns);
  const firstCut = new Map([
    ...removal.turns.map((turn) => [turn, 1] as const),
    ...removal.cut.map(({ turn, step }) => [turn, step] as const),
  ]);
  return {
    ...document,
    messages: document.messages.filter(({ position }) => position < removal.position),
    turns: document.turns.filter(({ number }) => !gone.has(number)),
    steps: document.steps.filter(({ turn, step }) => step.number < (firstCut.get(turn) ?? Infinity)),
    actions: document.actions.filter(({ turn }) => !firstCut.has(turn)),
    files: (document.files ?? []).map((file) =>
      (file.position ?? 0) < removal.position
        ? file
        : { ...file, position: null, dueAt: at + UNUSED_FILE_MS },
    ),
    checkpoints: document.checkpoints.filter(({ turn }) => !firstCut.has(turn)),
    systemEvents: document.systemEvents.filter(({ item }) => item.created_at < removal.since),
  };
}

/** Removes events up to and including a sequence number. */
export function withFloor(document: SessionDocument, floor: number): SessionDocument {
  const events = document.events.filter(({ number }) => number > floor);
  const eventBytes = Math.max(
    0,
    (document.session.eventBytes ?? 0) - bytesOf(document.events) + bytesOf(events),
  );
  return {
    ...document,
    events,
    floor: Math.max(document.floor, floor),
    session: { ...document.session, eventBytes },
  };
}

/** Removes the oldest events of a log that is too large, and updates its size in bytes. */
function withShorterLog(document: SessionDocument): SessionDocument {
  let bytes = 0;
  const first = document.events.findLast(({ text }) => {
    bytes += Buffer.byteLength(text);
    return bytes > EVENT_LOG_CUT_BYTES;
  });
  const cut = first === undefined ? document : withFloor(document, first.number);
  return { ...cut, session: { ...cut.session, eventBytes: bytesOf(cut.events) } };
}

function bytesOf(events: SessionDocument["events"]): number {
  return events.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

export function openTurnsOf(document: SessionDocument): readonly OpenTurn[] {
  const at = (position: number): MessageRecord => {
    const message = document.messages.find((found) => found.position === position);
    if (message === undefined) throw new Error(`Message ${position} of ${document.session.id} is missing`);
    return message;
  };
  const pending = (): readonly ActionRecord[] => pendingOf(document);
  return document.turns
    .filter(({ endedAt }) => endedAt === null)
    .map((turn) => openTurnOf(turn, at, pending));
}

export function pendingOf({ actions }: SessionDocument): readonly ActionRecord[] {
  return actions.filter(({ status }) => status === "pending");
}

/** Returns the checkpointed text since the last finished step, of one turn or (`null`) of all turns. */
export function streamedOf({ checkpoints }: SessionDocument, turn: number | null): string {
  return checkpoints
    .filter((piece) => turn === null || piece.turn === turn)
    .reduce((text, piece) => text.slice(0, piece.offset) + piece.text, "");
}

export function loadedOf(document: SessionDocument): StoredSession {
  const { session, messages, systemEvents } = document;
  return {
    session,
    messages,
    systemEvents,
    pendingActions: pendingOf(document),
    checkpointed: streamedOf(document, null),
  };
}

/** Returns the facts of a command. `origin` is the document of the session from which it copies. */
export function factsOf(
  document: SessionDocument,
  needs: Needs,
  origin: SessionDocument | null,
): StoredFacts {
  const { messages, turns } = document;
  return {
    turnCount: () => {
      const open = turns.filter(({ endedAt }) => endedAt === null);
      return { openTurns: open.length, waits: open.some(({ state }) => state === "waiting") };
    },
    openTurns: () => openTurnsOf(document),
    checkpointed: () => partialTextOf(openTurnsOf(document), (turn) => streamedOf(document, turn)),
    idempotencyKey: () => document.usedKeys.find(({ key }) => key === needs.idempotencyKey) ?? null,
    action: () => document.actions.find(({ id }) => id === needs.action) ?? null,
    message: () => messages.find(({ id }) => id === needs.message) ?? null,
    tail: () => {
      const from = messages.find(({ id }) => id === needs.tail)?.position;
      if (from === undefined) return { messages: [], turns: [] };
      const cut = turns.filter(
        ({ userPosition, agentPosition }) => userPosition >= from || (agentPosition ?? 0) >= from,
      );
      const numbers = new Set(cut.map(({ number }) => number));
      return {
        messages: messages.filter(({ position, turn }) => position >= from || numbers.has(turn)),
        turns: cut,
      };
    },
    firstTurn: () => messages[0]?.turn ?? null,
    files: () => (document.files ?? []).filter(({ id }) => needs.files?.includes(id) === true),
    origin: () => (origin === null ? null : originOf(origin)),
    lease: () => document.lease,
  };
}

function originOf({ session, messages, turns, steps, files = [] }: SessionDocument): Origin {
  const used = files.filter(({ position }) => position !== null);
  return { session, messages, turns, steps, files: used };
}
