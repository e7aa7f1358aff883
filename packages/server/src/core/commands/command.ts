// What a command is made of: a target, an input, and a definition that decides on the facts it needs.

import type { ActionRecord } from "../action.ts";
import type { MessageRecord } from "../message.ts";
import type { SessionBirth } from "../session.ts";
import type { Lease, OpenTurn, TurnIdentity } from "../turn.ts";
import type { Disposition } from "./disposition.ts";
import type { SessionDraft, UsedKey } from "./draft.ts";

/** A session by its id. */
export interface SessionTarget {
  readonly session: string;
  /** What the session begins as if there is none; `null` if it must exist: then nothing is created and `execute` returns `null`. */
  readonly birth: SessionBirth | null;
  /** Whether the answer holds the whole session as it is after the command. */
  readonly load: boolean;
}

/** A session that the caller may use if it counts as one of `apps`; any App does if absent. The outcome is `other_app` otherwise. */
export interface AccessibleTarget extends SessionTarget {
  readonly apps?: readonly string[] | undefined;
}

/** A running turn. `execute` returns `null` if it was interrupted, deleted or taken over, or if its lease has run out. */
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
  readonly "accessible session": AccessibleTarget;
  readonly turn: TurnTarget;
  readonly incarnation: IncarnationTarget;
}

/** The facts that a command reads besides the session's row. */
export interface Needs {
  /** The number of open turns. Cheaper than loading them. */
  readonly turnCount?: boolean;
  /** Open turns with their messages and pending actions, and the session's lease. */
  readonly openTurns?: boolean;
  /** Text of open turns that was checkpointed. */
  readonly checkpointed?: boolean;
  /** Everything that a snapshot shows. */
  readonly snapshot?: boolean;
  readonly idempotencyKey?: string | null;
  /** Id of an action. */
  readonly action?: string | null;
  /** An upper bound of the epochs that the decision takes. */
  readonly epochs?: number;
  /** Whether the command may remove the session: no later command of the session joins its transaction. */
  readonly removal?: boolean;
}

export interface TurnCount {
  readonly openTurns: number;
  /** Whether one of them waits for a person. */
  readonly waits: boolean;
}

/** The whole text of a running turn's agent message, committed or not. */
export interface PartialText {
  readonly turn: number;
  readonly epoch: number;
  readonly text: string;
}

/** Facts of one session as the transaction sees them, earlier commands of the same batch included. Only those that were needed may be read. */
export interface StoredFacts {
  turnCount(): TurnCount;
  /** Oldest first. */
  openTurns(): readonly OpenTurn[];
  /** The running turn's text as it was checkpointed last. */
  checkpointed(): PartialText | null;
  /** The earlier chat with the needed idempotency key. */
  idempotencyKey(): UsedKey | null;
  /** The needed action; `null` if the session has none with this id. */
  action(): ActionRecord | null;
  lease(): Lease | null;
}

export type WritingTurn = OpenTurn & { readonly agentMessage: MessageRecord };

/** The facts of every command of a running turn. */
export interface TurnFacts {
  /** The turn, which may write. */
  readonly turn: WritingTurn;
  /** All open turns of the session, oldest first. */
  readonly openTurns: readonly OpenTurn[];
  readonly lease: Lease;
}

/** The facts that a decision may read: those that its needs name. */
export type Facts<TargetKind extends keyof Targets, Named extends Needs> = TargetKind extends "turn"
  ? TurnFacts
  : Pick<StoredFacts, Extract<keyof Named, keyof StoredFacts>>;

export interface Definition<TargetKind extends keyof Targets, Input, Named extends Needs, Outcome> {
  readonly target: TargetKind;
  /** Pure, and called before any read, so that lock and reads share one round trip. */
  readonly needs: (input: Input) => Named;
  /** Pure. Changes the draft. */
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
