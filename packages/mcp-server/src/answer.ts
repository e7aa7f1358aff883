// Waits for answers and reads them.

import type { Message, PendingAction, UpdateEvent } from "@colloquy/protocol";
import {
  NotFound,
  type ProtocolConversation,
  type SentMessage,
  ServiceError,
  type Start,
  startOfSent,
  type StreamFollower,
  TurnFold,
} from "@colloquy/server/protocol";
import { filesOf, type LinkedFile } from "./files.ts";
import type { Progress } from "./progress.ts";

interface Wait {
  /** Maximum wait; 0 for none. */
  readonly seconds: number;
  readonly progress: Progress;
}

/** A turn to wait for. */
export interface StartedTurn {
  readonly turn: number;
  /** State of the turn to follow it from; `null` to read it. */
  readonly start: Start | null;
}

/** Converts the result of `send`. */
export function turnOf(sent: SentMessage): StartedTurn {
  return { turn: sent.turn, start: startOfSent(sent) };
}

/**
 * Calls `begin`, which returns a turn, and waits until the turn ends or an action is pending. Returns the turn's
 * number. If the time limit passes or the service stops, returns it earlier, and the turn continues.
 */
export async function waitForTurn(
  conversation: ProtocolConversation,
  begin: () => Promise<StartedTurn>,
  { seconds, progress }: Wait,
): Promise<number> {
  if (seconds === 0) return (await begin()).turn;
  let turn: number | null = null;
  const follow = async (): Promise<TurnFollower> => {
    const started = await begin();
    ({ turn } = started);
    progress.begin(`session_id: ${conversation.id}`);
    return new TurnFollower(started.start ?? (await readStart(conversation, turn)), progress);
  };
  try {
    await conversation.follow(follow, { signal: AbortSignal.timeout(seconds * 1000) });
  } catch (error) {
    const isCutOff = error instanceof ServiceError && error.code === "answer_cut_off";
    if (turn === null || !isCutOff) throw error;
  } finally {
    progress.end();
  }
  if (turn === null) throw new Error("The wait ended before the turn was started");
  return turn;
}

async function readStart(conversation: ProtocolConversation, turn: number): Promise<Start> {
  const snapshot = await conversation.snapshot();
  // Read after the snapshot: a turn that ends in between is then over here.
  const read = await conversation.turn(turn, snapshot);
  const { messages: answers, pending_actions: pendingActions, last_event_id: lastEventId } = snapshot;
  const isOpen = read !== null && read.endedAt === null;
  return { state: { turn, answers, pendingActions, isOpen, failure: null }, lastEventId };
}

/** Follows a session until a turn ends or an action is pending, and passes its text to `progress`. */
class TurnFollower implements StreamFollower {
  readonly after: string;
  readonly #turn: TurnFold;
  readonly #isOpen: boolean;
  readonly #progress: Progress;

  constructor({ state, lastEventId }: Start, progress: Progress) {
    this.after = lastEventId;
    this.#isOpen = state.isOpen;
    this.#progress = progress;
    this.#turn = new TurnFold(state);
    this.#report();
  }

  get isOver(): boolean {
    return !this.#isOpen || this.#turn.end !== null || this.#turn.pendingActions.length > 0;
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
  /** Files of the results, oldest first. */
  readonly files: readonly LinkedFile[];
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
    files: answer === null ? [] : filesOf(answer, conversation.id),
    pending: snapshot.pending_actions,
    failure: failure === null ? null : { code: failure, reason },
  };
}
