// Runs one command in the current transaction: read, decide, write, return the result.

import {
  birthOf,
  decideCommand,
  type Decision,
  loadsSession,
  needsOf,
  sessionOf,
} from "../../core/commands/decide.ts";
import type { SessionCommand } from "../../core/commands/index.ts";
import { SessionDraft } from "../../core/commands/draft.ts";
import type { Committed, StoredSession } from "../../core/ports/driven/session-store.ts";
import { newSession, type SessionBirth, type SessionRecord } from "../../core/session.ts";
import { SYSTEM_EVENTS_SHOWN } from "../../core/session-event.ts";
import { prepareDraftWriter } from "./draft-writer.ts";
import { type FactReader, prepareFacts } from "./facts.ts";
import type { Prepare } from "./database.ts";

export interface Transaction {
  readonly facts: FactReader;
  /** True if an expired lease stays its owner's until it is released. */
  readonly isAlone: boolean;
  /** Runs a command, as `CommandStore.execute`. */
  execute(at: number, command: SessionCommand): Committed<unknown> | null;
  /** Runs a command for a selected session; `null` if it changed nothing. */
  executeSelected(at: number, command: SessionCommand): Committed<unknown> | null;
  /**
   * Like `execute`, if the command has nothing to write but the session's last use; `undefined` otherwise.
   */
  executeWithoutWriting(at: number, command: SessionCommand): Committed<unknown> | null | undefined;
  /** Must be called after a rollback. Discards numbers that were taken in the transaction. */
  undone(): void;
}

interface Decided extends Decision {
  /** The session as it was read; `null` if the draft creates it. */
  readonly before: SessionRecord | null;
  readonly session: SessionRecord;
  readonly draft: SessionDraft;
}

export function prepareTransaction(prepare: Prepare, isAlone = false): Transaction {
  const facts = prepareFacts(prepare);
  const write = prepareDraftWriter(prepare);
  const keys = prepareSessionKeys(prepare);
  const readAndDecide = prepareDecision(prepare, { facts, keys, isAlone });
  const dropped = ({ outcome, disposition, before, session }: Decided, load: boolean) => {
    const loaded = load && before !== null && disposition === "void" ? facts.load(before) : null;
    return { outcome, session, created: false, events: [], audited: [], loaded };
  };
  const committed = ({ outcome, before, draft }: Decided, load: boolean) => {
    const { session, events, audited } = draft;
    const loaded = load ? (before === null ? createdIn(draft) : facts.load(session)) : null;
    return { outcome, session, created: before === null, events, audited, loaded };
  };
  return {
    facts,
    isAlone,
    execute: (at, command) => {
      const decided = readAndDecide(at, command, birthOf(command));
      if (decided === null) return null;
      if (decided.disposition !== "commit") return dropped(decided, loadsSession(command));
      write(decided.before, decided.draft);
      return committed(decided, loadsSession(command));
    },
    executeSelected: (at, command) => {
      const decided = readAndDecide(at, command, null);
      if (decided?.disposition !== "commit") return null;
      write(decided.before, decided.draft);
      return committed(decided, false);
    },
    executeWithoutWriting: (at, command) => {
      const decided = readAndDecide(at, command, null);
      if (decided === null) return birthOf(command) === null ? null : undefined;
      if (decided.disposition !== "commit") return dropped(decided, loadsSession(command));
      return decided.draft.isUnchanged ? committed(decided, loadsSession(command)) : undefined;
    },
    undone: () => keys.undone(),
  };
}

function prepareDecision(
  prepare: Prepare,
  {
    facts,
    keys,
    isAlone,
  }: { readonly facts: FactReader; readonly keys: SessionKeys; readonly isAlone: boolean },
): (at: number, command: SessionCommand, birth: SessionBirth | null) => Decided | null {
  // One by one and in order, because an owner stops when it sees a higher epoch.
  const nextEpoch = prepare<[], { readonly value: number }>(
    "UPDATE sequences SET value = value + 1 WHERE name = 'epoch' RETURNING value",
  );
  const deleted = prepare<[string, number], { readonly found: number }>(
    "SELECT 1 AS found FROM deleted_sessions WHERE id = ? AND until > ?",
  );
  const takeEpoch = (): number => {
    const row = nextEpoch.get();
    if (row === undefined) throw new Error("The sequence epoch is missing from the database");
    return row.value;
  };
  return (at, command, birth) => {
    const id = sessionOf(command);
    const before = facts.sessionById(id);
    const stays = before === null && birth?.unlessDeleted === true && deleted.get(id, at) !== undefined;
    const session = before ?? (birth === null || stays ? null : newSession(keys.take(), id, birth, at));
    if (session === null) return null;
    const draft = new SessionDraft(session, at, takeEpoch);
    const leasesAt = isAlone ? Number.NEGATIVE_INFINITY : at;
    const decision = decideCommand(command, draft, facts.of(session, needsOf(command)), leasesAt);
    return decision === null ? null : { ...decision, before, session, draft };
  };
}

function createdIn({ session, addedMessages, systemEvents }: SessionDraft): StoredSession {
  return {
    session,
    messages: addedMessages,
    systemEvents: systemEvents.slice(-SYSTEM_EVENTS_SHOWN),
    pendingActions: [],
    checkpointed: "",
  };
}

/**
 * Number of keys that are taken from the database at a time. Keys that a process does not use are never used.
 */
const KEY_BLOCK = 256;

interface SessionKeys {
  /** Returns a key that no process has taken before. Must be called in a write transaction. */
  take(): number;
  /** Must be called after a rollback, which may have undone the reservation of the current block. */
  undone(): void;
}

export function prepareSessionKeys(prepare: Prepare): SessionKeys {
  const takeBlock = prepare<[number, string], { readonly value: number }>(
    "UPDATE sequences SET value = value + ? WHERE name = ? RETURNING value",
  );
  let left = 0;
  let end = 0;
  return {
    take: () => {
      if (left === 0) {
        const row = takeBlock.get(KEY_BLOCK, "session_key");
        if (row === undefined) throw new Error("The sequence session_key is missing from the database");
        end = row.value;
        left = KEY_BLOCK;
      }
      left -= 1;
      return end - left;
    },
    undone: () => {
      left = 0;
    },
  };
}
