// Waits for answers and reads them.

import type { Message, PendingAction, Snapshot, UpdateEvent } from "@colloquy/protocol";
import {
  NotFound,
  type ProtocolConversation,
  ServiceError,
  type StreamFollower,
  TurnFold,
} from "@colloquy/server/protocol";
import type { Progress } from "./progress.ts";

interface Wait {
  /** Maximum wait; 0 for none. */
  readonly seconds: number;
  readonly progress: Progress;
}

/**
 * Calls `start`, which returns the number of a turn, and waits until the turn ends or an action is pending. Returns
 * the number. If the time limit passes or the service stops, returns it earlier, and the turn continues.
 */
export async function waitForTurn(
  conversation: ProtocolConversation,
  start: () => Promise<number>,
  { seconds, progress }: Wait,
): Promise<number> {
  if (seconds === 0) return await start();
  let turn: number | null = null;
  const begin = async (): Promise<TurnFollower> => {
    turn = await start();
    progress.begin(`session_id: ${conversation.id}`);
    const snapshot = await conversation.snapshot();
    // Read after the snapshot: a turn that ends in between is then over here.
    const read = await conversation.turn(turn, snapshot);
    return new TurnFollower(snapshot, { turn, isOver: read === null || read.endedAt !== null, progress });
  };
  try {
    await conversation.follow(begin, { signal: AbortSignal.timeout(seconds * 1000) });
  } catch (error) {
    const isCutOff = error instanceof ServiceError && error.code === "answer_cut_off";
    if (turn === null || !isCutOff) throw error;
  } finally {
    progress.end();
  }
  if (turn === null) throw new Error("The wait ended before the turn was started");
  return turn;
}

interface FollowedTurn {
  readonly turn: number;
  readonly isOver: boolean;
  readonly progress: Progress;
}

/** Follows a session until a turn ends or an action is pending, and passes its text to `progress`. */
class TurnFollower implements StreamFollower {
  readonly after: string;
  readonly #turn: TurnFold;
  readonly #isOver: boolean;
  readonly #progress: Progress;

  constructor(
    { messages, pending_actions: pendingActions, last_event_id }: Snapshot,
    { turn, isOver, progress }: FollowedTurn,
  ) {
    this.after = last_event_id;
    this.#isOver = isOver;
    this.#progress = progress;
    this.#turn = new TurnFold({ turn, answers: [], pendingActions, failure: null });
    for (const message of messages) this.#turn.addMessage(message);
    this.#report();
  }

  get isOver(): boolean {
    return this.#isOver || this.#turn.end !== null || this.#turn.pendingActions.length > 0;
  }

  encode(event: UpdateEvent): string {
    this.#turn.apply(event);
    this.#report();
    return "";
  }

  #report(): void {
    if (this.#turn.answer !== null) this.#progress.text = this.#turn.answer.content;
  }
}

/** State of a turn, with the text of its answer so far. */
export interface TurnAnswer {
  readonly userMessage: Message;
  readonly status: "queued" | "running" | "waiting" | "complete" | "interrupted" | "failed";
  readonly text: string;
  readonly pending: readonly PendingAction[];
  /** Why the turn failed; `null` if it has not failed. */
  readonly failure: { readonly code: string; readonly reason: string | null } | null;
}

/** Returns the answer of a turn. Throws `NotFound` if another message has replaced the turn. */
export async function readAnswer(conversation: ProtocolConversation, number: number): Promise<TurnAnswer> {
  const snapshot = await conversation.snapshot();
  const turn = await conversation.turn(number, snapshot);
  if (turn === null)
    throw new NotFound(
      "message_not_found",
      "Another message has replaced this one. get_conversation returns the current messages.",
    );
  const { user, answer, state, failure, reason } = turn;
  return {
    userMessage: user,
    status: state,
    text: answer?.content ?? "",
    pending: snapshot.pending_actions,
    failure: failure === null ? null : { code: failure, reason },
  };
}
