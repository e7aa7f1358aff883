// Reduces a conversation's events to one part of the answer of a turn.

import type { PendingAction, Snapshot, UpdateEvent } from "@colloquy/protocol";
import {
  type ProtocolConversation,
  type ProtocolTurn,
  type TurnEnd,
  TurnFold,
} from "@colloquy/server/protocol";
import { actionsOf, type AnswerState } from "./answer-part.ts";

/** Why a part of an answer ended. `waiting`: for a client or a person. */
export type AnswerEnd = TurnEnd | "waiting";

/** A conversation's snapshot and one of its turns. The turn is read after the snapshot. */
export interface TurnRead {
  readonly snapshot: Snapshot;
  readonly turn: ProtocolTurn;
}

/** Reads a turn; `null` if it does not exist. Throws a `ServiceError` 404 if the conversation does not exist. */
export async function readTurn(conversation: ProtocolConversation, number: number): Promise<TurnRead | null> {
  // Read the snapshot first: later changes arrive as events.
  const snapshot = await conversation.snapshot();
  const turn = await conversation.turn(number, snapshot);
  return turn === null ? null : { snapshot, turn };
}

export class FollowedAnswer {
  readonly #turn: TurnFold;
  readonly #actions: Map<string, ReturnType<AnswerState["actions"]["get"]> & object>;
  /** True if the part also ends when only approvals are pending. */
  readonly #stopsForApprovals: boolean;
  /** True if the message was stored without an answer. */
  readonly #isUnanswered: boolean;

  constructor({ snapshot, turn }: TurnRead, { stopsForApprovals }: { readonly stopsForApprovals: boolean }) {
    const { messages, pending_actions: pendingActions, is_processing: isProcessing } = snapshot;
    this.#turn = new TurnFold({ turn: turn.number, answers: [], pendingActions, failure: null });
    for (const message of messages) this.#turn.addMessage(message);
    this.#isUnanswered = this.#turn.answer === null && !isProcessing;
    this.#stopsForApprovals = stopsForApprovals;
    this.#actions = actionsOf(turn);
    this.#addPending();
  }

  get state(): AnswerState {
    return { answer: this.#turn.answer, actions: this.#actions, isOver: this.end !== null };
  }

  get end(): AnswerEnd | null {
    const { answer, end, isWaiting, pendingActions: pending } = this.#turn;
    if (end !== null) return end;
    if (answer === null) return this.#isUnanswered ? "complete" : null;
    const isStop = this.#stopsForApprovals || pending.some(({ kind }) => kind !== "approval");
    return isStop && isWaiting ? "waiting" : null;
  }

  /** Pending actions that the client must answer, in the order of their calls. */
  get clientActions(): readonly PendingAction[] {
    return this.#turn.pendingActions.filter(({ kind }) => kind !== "approval");
  }

  apply(event: UpdateEvent): void {
    if (this.end !== null) return;
    this.#turn.apply(event);
    this.#addPending();
  }

  #addPending(): void {
    for (const action of this.#turn.pendingActions) this.#actions.set(action.call_id, action);
  }
}
