// Folds a session's events to one turn: its answer and its end.

import type { Message, PendingAction, SystemEvent, UpdateEvent } from "@colloquy/protocol";
import type { UIMessageChunk } from "ai";
import type { AnswerChunks, AnswerEnd } from "./answer-chunks.ts";
import { asText } from "./message-parts.ts";

/** State of a turn. */
export interface TurnState {
  /** Number of the turn; `null` for the next turn that starts to answer. */
  readonly turn: number | null;
  /** The answer; `null` before it begins. */
  readonly answer: Message | null;
  readonly pendingActions: readonly PendingAction[];
  /** True if the turn has not ended. */
  readonly isOpen: boolean;
  /** Reason why the turn failed, or `null`. */
  readonly failure: string | null;
}

const FAILED = "The assistant could not finish this answer.";
/** Notices after which the service ends a stream. */
const LAST_NOTICES: ReadonlySet<string> = new Set([
  "session_deleted",
  "session_not_found",
  "app_key_invalid",
  "user_token_expired",
]);

export class FollowedTurn {
  readonly #chunks: AnswerChunks;
  #turn: number | null;
  #answer: Message | null;
  #pending: readonly PendingAction[];
  #failure: string | null;
  #isOver = false;

  constructor(state: TurnState, chunks: AnswerChunks) {
    this.#chunks = chunks;
    this.#turn = state.turn;
    this.#answer = state.answer;
    this.#pending = state.pendingActions;
    this.#failure = state.failure;
  }

  /** True if the turn has ended or waits for a person. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns the chunks of the initial state. */
  *begin({ isOpen }: Pick<TurnState, "isOpen">): Iterable<UIMessageChunk> {
    yield* this.#show();
    if (!isOpen && !this.#isOver) yield* this.#end(this.#failedOr("interrupted"));
  }

  /** Returns the chunks of an event; none after the end. */
  *apply(event: UpdateEvent): Iterable<UIMessageChunk> {
    if (this.#isOver) return;
    switch (event.type) {
      case "message_created":
      case "message_updated":
      case "message_completed":
        return yield* this.#onMessage(event.message);
      case "message_delta":
        return yield* this.#onDelta(event);
      case "system_event":
        return yield* this.#onSystemEvent(event.item);
      case "state_changed":
        if (event.status !== "processing") yield* this.#end(this.#failedOr("interrupted"));
        return;
      case "system_notice":
        if (LAST_NOTICES.has(event.code)) yield* this.#end({ failure: event.message });
        return;
      default:
    }
  }

  *#onMessage(message: Message): Iterable<UIMessageChunk> {
    const { sender, turn = null, status } = message;
    if (this.#turn !== null && turn !== this.#turn) return;
    if (sender === "user") {
      // The turn was interrupted before it began to answer.
      if (status === "interrupted" && this.#turn !== null) yield* this.#end("interrupted");
      return;
    }
    this.#turn = turn;
    this.#answer = message;
    yield* this.#show();
  }

  *#onDelta(delta: { message_id: string; offset: number; text: string }): Iterable<UIMessageChunk> {
    const answer = this.#answer;
    if (answer === null || answer.id !== delta.message_id) return;
    const { content } = answer;
    // After a gap, the whole text follows.
    if (delta.offset > content.length) return;
    this.#answer = { ...answer, content: content.slice(0, delta.offset) + delta.text };
    // Fast path: most deltas append to the text.
    if (delta.offset === content.length && this.#chunks.textLength === content.length)
      yield* this.#chunks.grow(delta.text);
    else yield* this.#show();
  }

  *#onSystemEvent({ type, payload }: SystemEvent): Iterable<UIMessageChunk> {
    if (type === "action_requested") this.#pending = [...this.#pending, payload as unknown as PendingAction];
    else if (type === "action_resolved")
      this.#pending = this.#pending.filter(({ id }) => id !== payload["id"]);
    else if (type === "error") this.#failure = asText(payload["message"]);
    else return;
    yield* this.#show();
  }

  *#show(): Iterable<UIMessageChunk> {
    const answer = this.#answer;
    if (answer === null) return;
    yield* this.#chunks.next(answer, this.#pending);
    const end = this.#endOf(answer);
    if (end !== null) yield* this.#end(end);
  }

  #endOf(answer: Message): AnswerEnd | null {
    switch (answer.status) {
      case "complete":
      case "interrupted":
        return answer.status;
      case "failed":
        // The reason follows in an event of the same commit.
        return this.#failure === null ? null : { failure: this.#failure };
      case "queued":
      case "streaming":
        return this.#waits(answer) ? "waiting" : null;
    }
  }

  /** Returns true if every open call waits for a person. */
  #waits({ tool_calls: calls = [], tool_results: results = [] }: Message): boolean {
    const done = new Set(results.map(({ call_id }) => call_id));
    const open = calls.filter(({ id }) => !done.has(id));
    return open.length > 0 && open.every(({ id }) => this.#pending.some(({ call_id }) => call_id === id));
  }

  #failedOr(end: AnswerEnd): AnswerEnd {
    return this.#answer?.status === "failed" ? { failure: this.#failure ?? FAILED } : end;
  }

  *#end(how: AnswerEnd): Iterable<UIMessageChunk> {
    this.#isOver = true;
    yield* this.#chunks.end(how);
  }
}
