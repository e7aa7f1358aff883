// The parts of a command: a target, an input, and a definition that decides on stored facts.

import type { ActionRecord } from "../action.ts";
import type { FileRecord } from "../file.ts";
import { joinStepText, type MessageRecord } from "../message.ts";
import type { SessionAccess } from "../session-access.ts";
import type { SessionBirth, SessionRecord } from "../session.ts";
import type { Lease, OpenTurn, TurnIdentity, TurnRecord } from "../turn.ts";
import type { SessionDraft, TurnStep, UsedKey } from "./draft.ts";

/** A session by its id. */
export interface SessionTarget {
  readonly session: string;
  /**
   * Initial values if the session must be created; with `null`, `execute` returns `null` for a session that
   * does not exist. With `unlessDeleted`, also for one that was deleted a short time ago.
   */
  readonly birth: SessionBirth | null;
  /** True to return the whole session after the command. */
  readonly load: boolean;
  /**
   * The caller's access; `null` for operators and the service itself. The outcome for a session without
   * access is `Hidden`. The user becomes the owner of an empty session.
   */
  readonly access: SessionAccess | null;
}

/** A running turn. `execute` returns `null` if it may no longer write (`mayWrite`). */
export interface TurnTarget {
  readonly turn: TurnIdentity;
}

/** One incarnation of a session. `execute` returns `null` if it has ended. */
export interface IncarnationTarget {
  readonly session: string;
  readonly incarnation: string;
}

export interface Targets {
  readonly session: SessionTarget;
  readonly turn: TurnTarget;
  readonly incarnation: IncarnationTarget;
}

/** The facts that a command reads besides the session's row. */
export interface Needs {
  /** Number of turns; cheaper to read than the turns. */
  readonly turnCount?: boolean;
  /** Open turns with their messages and pending actions, and the session's lease. */
  readonly openTurns?: boolean;
  readonly checkpointed?: boolean;
  /** Everything in a snapshot. */
  readonly snapshot?: boolean;
  readonly idempotencyKey?: string | null;
  /** Id of an action. */
  readonly action?: string | null;
  /** Maximum number of epochs that the decision takes. */
  readonly epochs?: number;
  /**
   * True if the command may remove the session or messages. No other command of the session then joins its transaction.
   */
  readonly removal?: boolean;
  /** Id of a message. */
  readonly message?: string | null;
  /** Id of a message, to read it and all later messages. */
  readonly tail?: string | null;
  /** The turn of the first message. */
  readonly firstTurn?: boolean;
  /** Ids of files of the session. */
  readonly files?: readonly string[];
  /** Id of another session, which is locked and read too. Such a command has a transaction of its own. */
  readonly origin?: string;
}

export interface TurnCount {
  readonly openTurns: number;
  /** True if one of the turns waits for a person. */
  readonly waits: boolean;
}

/** The whole text of a running turn's agent message, committed or not. */
export interface PartialText {
  readonly messageId: string;
  readonly epoch: number;
  readonly text: string;
}

/** Returns the text of the running turn. `streamed` returns what follows its last finished step. */
export function partialTextOf(
  openTurns: readonly OpenTurn[],
  streamed: (turn: number) => string,
): PartialText | null {
  const running = openTurns.find(({ agentMessage }) => agentMessage !== null);
  if (running === undefined || running.agentMessage === null) return null;
  const { turn, agentMessage } = running;
  const text = joinStepText(agentMessage.content, streamed(turn.number));
  return { messageId: agentMessage.id, epoch: turn.epoch, text };
}

/** A message and everything after it. All lists are empty if the message is unknown. */
export interface Tail {
  /** The message and those after it, in the order of arrival; before it, those of turns that end among them. */
  readonly messages: readonly MessageRecord[];
  /** Turns whose question or answer is among the messages after the first one, or is it. */
  readonly turns: readonly TurnRecord[];
}

/** Another session, from which a command copies. */
export interface Origin {
  readonly session: SessionRecord;
  /** In the order of arrival. */
  readonly messages: readonly MessageRecord[];
  /** Oldest first. */
  readonly turns: readonly TurnRecord[];
  readonly steps: readonly TurnStep[];
  /** The files that messages use. */
  readonly files: readonly FileRecord[];
}

/**
 * Facts of one session as its transaction sees them, after earlier commands of the same batch. A command may
 * read only those in its `Needs`.
 */
export interface StoredFacts {
  turnCount(): TurnCount;
  /** Oldest first. */
  openTurns(): readonly OpenTurn[];
  /** The running turn's text at its last checkpoint. */
  checkpointed(): PartialText | null;
  /** The earlier chat with this idempotency key. */
  idempotencyKey(): UsedKey | null;
  action(): ActionRecord | null;
  message(): MessageRecord | null;
  tail(): Tail;
  /** `null` without messages. */
  firstTurn(): number | null;
  /** Those of the named files that exist, in any order. Some may have expired. */
  files(): readonly FileRecord[];
  /** `null` if there is no such session. */
  origin(): Origin | null;
  lease(): Lease | null;
}

export type WritingTurn = OpenTurn & { readonly agentMessage: MessageRecord };

/** The facts that every command of a running turn reads. */
export interface TurnFacts {
  readonly turn: WritingTurn;
  /** All open turns of the session, oldest first. */
  readonly openTurns: readonly OpenTurn[];
  readonly lease: Lease;
}

export type Facts<TargetKind extends keyof Targets, Named extends Needs> = TargetKind extends "turn"
  ? TurnFacts
  : Pick<StoredFacts, Extract<keyof Named, keyof StoredFacts>>;

/**
 * Disposition of a draft: `commit` writes it, `void` drops it, `hidden` drops it and does not load the
 * session, to which the caller has no access.
 */
export type Disposition = "commit" | "void" | "hidden";

const DISPOSITIONS = {
  ok: "commit",
  file_exists: "commit",
  app_mismatch: "hidden",
  wallet_mismatch: "void",
  wallet_not_proved: "void",
  user_state_too_large: "void",
  metadata_too_large: "void",
  session_busy: "void",
  queue_full: "void",
  session_full: "void",
  attachment_not_found: "void",
  attachment_of_other_app: "void",
  message_not_found: "void",
  not_an_answer: "void",
  answer_in_progress: "void",
  message_exists: "void",
  message_not_last: "void",
  not_a_user_message: "void",
  idempotency_key_reused: "void",
  unknown: "void",
  invalid: "void",
  decided_otherwise: "void",
  cancelled: "void",
  approver_required: "void",
  own_request: "void",
  claimed_otherwise: "void",
  not_claimed: "void",
  not_claimable: "void",
  other_app: "hidden",
  other_owner: "hidden",
  unknown_origin: "hidden",
  session_not_empty: "void",
  turn_not_finished: "void",
} as const satisfies Readonly<Record<string, Disposition>>;

/** Returns the disposition of an outcome that is a plain string. */
export function dispositionOf(outcome: keyof typeof DISPOSITIONS): Disposition {
  return DISPOSITIONS[outcome];
}

export interface Definition<TargetKind extends keyof Targets, Input, Named extends Needs, Outcome> {
  readonly target: TargetKind;
  /**
   * Returns the facts that the command needs. Pure, and called before any read, so that lock and reads share
   * one round trip.
   */
  readonly needs: (input: Input) => Named;
  /** Decides the command. Pure, except that it changes the draft. */
  readonly decide: (draft: SessionDraft, facts: Facts<TargetKind, Named>, input: Input) => Outcome;
  readonly disposition: (outcome: Outcome) => Disposition;
}

export function define<TargetKind extends keyof Targets, Input, Named extends Needs, Outcome>(
  definition: Definition<TargetKind, Input, Named, Outcome>,
): Definition<TargetKind, Input, Named, Outcome> {
  return definition;
}

/** A command of a running turn; its draft is always committed. */
export function defineForTurn<Input, Outcome>(
  decide: (draft: SessionDraft, facts: TurnFacts, input: Input) => Outcome,
  { epochs = 0 }: { readonly epochs?: number } = {},
): Definition<"turn", Input, Needs, Outcome> {
  const needs = { openTurns: true, epochs };
  return { target: "turn", needs: () => needs, decide, disposition: () => "commit" };
}

/**
 * Fences writes: returns true if the turn is running in the process of `identity`. Returns false if it waits or has
 * ended, if it was interrupted, deleted or taken over, or if its lease has expired `at` this time on the store's
 * clock, because another process may then claim the turn.
 */
export function mayWrite(
  session: Pick<SessionRecord, "key" | "epoch">,
  identity: TurnIdentity,
  lease: Lease | null,
  at: number,
): lease is Lease {
  // Every turn starts in an epoch of its own, and loses its lease when it waits or ends.
  return isCurrent(session, identity) && lease !== null && lease.expiresAt > at;
}

function isCurrent(session: Pick<SessionRecord, "key" | "epoch">, identity: TurnIdentity): boolean {
  return session.key === identity.sessionKey && session.epoch === identity.epoch;
}

/** Returns the open turn of this identity; `null` if it is not running there. Ignores the lease, for reads. */
export function turnThatRuns(
  session: Pick<SessionRecord, "key" | "epoch">,
  openTurns: readonly OpenTurn[],
  identity: TurnIdentity,
): WritingTurn | null {
  if (!isCurrent(session, identity)) return null;
  const open = openTurns.find(({ turn }) => turn.number === identity.number && turn.state === "running");
  return open === undefined || open.agentMessage === null
    ? null
    : { ...open, agentMessage: open.agentMessage };
}
