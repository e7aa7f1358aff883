// One session's change from beginning to end: read under the lock, decide, write, answer. What every method that changes a
// session has in common.

import type { DatabaseSync } from "node:sqlite";
import { SessionDraft } from "../../core/commands/draft.ts";
import type { Disposition } from "../../core/commands/disposition.ts";
import { turnThatWrites } from "../../core/commands/turn-progress.ts";
import type { MessageRecord } from "../../core/message.ts";
import type { Committed, SessionTarget, StoredSession } from "../../core/ports/driven/session-store.ts";
import { newSession, type SessionRecord } from "../../core/session.ts";
import { SYSTEM_EVENTS_SHOWN } from "../../core/system-event.ts";
import type { OpenTurn, TurnIdentity } from "../../core/turn.ts";
import { prepareDraftWriter, type WriteDraft } from "./draft-writer.ts";
import { prepareFacts, type Facts } from "./facts.ts";
import { prepare } from "./statement.ts";
import { prepareSequence } from "./sequence.ts";

export type WritingTurn = OpenTurn & { readonly agentMessage: MessageRecord };

export interface Transaction {
  readonly facts: Facts;
  /** Whether a lease that has run out still is its owner's while nobody has released it. */
  readonly isAlone: boolean;
  /** A draft of a session as it is now. */
  draft(session: SessionRecord, at: number): SessionDraft;
  readonly write: WriteDraft;
  /** To be called when a transaction was undone: what was taken in it counts no more. */
  undone(): void;
  /**
   * Changes the target, which begins its life here if it has none. `null` when there is none and none is to begin. The outcome
   * is answered whatever its disposition.
   */
  change<Outcome>(
    at: number,
    target: SessionTarget,
    decide: (draft: SessionDraft) => Outcome,
    dispositionOf?: (outcome: Outcome) => Disposition,
  ): Committed<Outcome> | null;
  /** Changes a session for a turn of it; `null`, with nothing changed, when that turn may no longer write. */
  changeForTurn(
    at: number,
    identity: TurnIdentity,
    decide: (draft: SessionDraft, open: WritingTurn, openTurns: readonly OpenTurn[]) => void,
  ): Committed<"ok"> | null;
  /** The turn if it may still write. */
  writingTurn(
    at: number,
    identity: TurnIdentity,
  ): { readonly session: SessionRecord; readonly open: WritingTurn } | null;
}

export function prepareTransaction(database: DatabaseSync, isAlone = false): Transaction {
  const facts = prepareFacts(database);
  const write = prepareDraftWriter(database);
  const keys = prepareSequence(database, "session_key");
  // One by one and in order: an owner stops when it sees a higher epoch than its own.
  const nextEpoch = prepare<[], { readonly value: number }>(
    database,
    "UPDATE sequences SET value = value + 1 WHERE name = 'epoch' RETURNING value",
  );
  const takeEpoch = (): number => {
    const row = nextEpoch.get();
    if (row === undefined) throw new Error("The sequence epoch is missing from the database");
    return row.value;
  };
  const draft = (session: SessionRecord, at: number) => new SessionDraft(session, at, takeEpoch);
  const held = (session: SessionRecord, at: number) => ({
    lease: facts.lease(session),
    at: isAlone ? Number.NEGATIVE_INFINITY : at,
  });

  return {
    facts,
    isAlone,
    draft,
    write,
    undone: () => keys.undone(),
    change: (at, target, decide, dispositionOf = () => "commit") => {
      const { id, birth, load } = target;
      const before = facts.sessionById(id);
      const session = before ?? (birth === null ? null : newSession(keys.take(), id, birth, at));
      if (session === null) return null;
      const change = draft(session, at);
      const outcome = decide(change);
      const disposition = dispositionOf(outcome);
      if (disposition !== "commit") {
        const loaded = load && before !== null && disposition === "void" ? facts.load(before) : null;
        return { outcome, session, created: false, events: [], loaded };
      }
      write(before, change);
      return answer(facts, change, outcome, before === null, load);
    },
    changeForTurn: (at, identity, decide) => {
      const session = facts.sessionByKey(identity.sessionKey);
      if (session === null) return null;
      const change = draft(session, at);
      const openTurns = facts.openTurns(session);
      const open = turnThatWrites(session, openTurns, identity, held(session, at));
      if (open === null) return null;
      decide(change, open, openTurns);
      write(session, change);
      return answer(facts, change, "ok", false, false);
    },
    writingTurn: (at, identity) => {
      const session = facts.sessionByKey(identity.sessionKey);
      if (session === null) return null;
      const open = turnThatWrites(session, facts.openTurns(session), identity, held(session, at));
      return open === null ? null : { session, open };
    },
  };
}

/** What a written draft answers. */
export function answer<Outcome>(
  facts: Facts,
  change: SessionDraft,
  outcome: Outcome,
  created: boolean,
  load: boolean,
): Committed<Outcome> {
  const { session, events } = change;
  // A session that was born in this draft is all in it.
  const loaded = load ? (created ? bornIn(change) : facts.load(session)) : null;
  return { outcome, session, created, events, loaded };
}

function bornIn({ session, addedMessages, systemEvents }: SessionDraft): StoredSession {
  return {
    session,
    messages: addedMessages,
    systemEvents: systemEvents.slice(-SYSTEM_EVENTS_SHOWN),
    pendingActions: [],
    checkpointed: "",
  };
}
