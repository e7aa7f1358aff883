// Encodes one turn of a session, event by event: its answer and its end.

import type { Message, PendingAction, ReasoningDelta, UpdateEvent } from "@colloquy/protocol";
import { TurnFold, type TurnState } from "./turn-fold.ts";

/** How the stream of an answer ends. `waiting`: every open call needs a decision or a client's result. */
export type AnswerEnd = "complete" | "interrupted" | "waiting" | { readonly failure: string };

/** Encodes the states of an answer as items of a protocol, such as its events or chunks. */
export interface AnswerEncoder<Item> {
  /** True to receive the messages of an answer separately; false to receive them joined. */
  readonly separatesMessages?: boolean;
  /** Length of the sent text in UTF-16 code units. */
  readonly textLength: number;
  /** Returns the items that are new in this state of the answer. */
  next(answer: Message, pending: readonly PendingAction[]): Iterable<Item>;
  /** Returns the items for text that is appended to the sent text. */
  grow(text: string): Iterable<Item>;
  /** Returns the items for streamed reasoning. */
  reason(delta: Pick<ReasoningDelta, "step" | "offset" | "text">): Iterable<Item>;
  /** Returns the last items. Called once. */
  end(how: AnswerEnd, pending: readonly PendingAction[]): Iterable<Item>;
}

const FAILED = "The assistant could not finish this answer.";

/** Passes the events of one turn to an encoder, until the turn ends or waits. */
export class FollowedTurn<Item> {
  readonly #encoder: AnswerEncoder<Item>;
  readonly #turn: TurnFold;
  #isOver = false;

  constructor(state: TurnState, encoder: AnswerEncoder<Item>) {
    this.#encoder = encoder;
    this.#turn = new TurnFold(state);
  }

  /** True once the turn has ended or waits (`AnswerEnd`). */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns the items of the initial state. */
  *begin({ isOpen }: Pick<TurnState, "isOpen">): Iterable<Item> {
    if (this.#encoder.separatesMessages === true)
      for (const message of this.#turn.answers.slice(0, -1)) yield* this.#encoder.next(message, []);
    yield* this.#show();
    if (isOpen || this.#isOver) return;
    yield* this.#end(this.#turn.end === "failed" ? { failure: FAILED } : "interrupted");
  }

  /** Returns the items of an event; none after the end. */
  *apply(event: UpdateEvent): Iterable<Item> {
    if (this.#isOver) return;
    const last = this.#turn.answers.at(-1);
    if (event.type === "reasoning_delta") {
      if (last?.id === event.message_id) yield* this.#encoder.reason(event);
      return;
    }
    this.#turn.apply(event);
    // Fast path: most deltas append to the text.
    const appends =
      event.type === "message_delta" &&
      event.message_id === last?.id &&
      event.offset === last.content.length &&
      this.#encoder.textLength + event.text.length === this.#shown?.content.length;
    if (appends) yield* this.#encoder.grow(event.text);
    else yield* this.#show();
  }

  /** Returns the answer in the form for the encoder. */
  get #shown(): Message | null {
    const { answer, answers } = this.#turn;
    return this.#encoder.separatesMessages === true ? (answers.at(-1) ?? null) : answer;
  }

  *#show(): Iterable<Item> {
    const shown = this.#shown;
    if (shown !== null) yield* this.#encoder.next(shown, this.#turn.pendingActions);
    const how = this.#howItEnds();
    if (how !== null) yield* this.#end(how);
  }

  #howItEnds(): AnswerEnd | null {
    const { end, failure, isIdle, isWaiting } = this.#turn;
    switch (end) {
      case "complete":
      case "interrupted":
        return end;
      case "gone":
        return { failure: failure ?? FAILED };
      case "failed":
        return failure === null && !isIdle ? null : { failure: failure ?? FAILED };
      case null:
        return isWaiting ? "waiting" : null;
    }
  }

  *#end(how: AnswerEnd): Iterable<Item> {
    this.#isOver = true;
    yield* this.#encoder.end(how, this.#turn.pendingActions);
  }
}
