// Folds a session's events to the state of one turn.

import type { Message, PendingAction, SystemEvent, UpdateEvent } from "@colloquy/protocol";
import { isLastPart, joinAnswers } from "./joined-answer.ts";
import { asText } from "./message-parts.ts";

/** State of a turn. */
export interface TurnState {
  /** Number of the turn; `null` for the next turn that starts to answer. */
  readonly turn: number | null;
  /** Messages of the answer, oldest first; none before it begins. The last one is in progress if the turn is open. */
  readonly answers: readonly Message[];
  readonly pendingActions: readonly PendingAction[];
  /** True if the turn has not ended. */
  readonly isOpen: boolean;
  /** Reason why the turn failed, or `null`. */
  readonly failure: string | null;
}

/** Why a turn ended. `gone`: another message has replaced it, or the conversation or the access to it. */
export type TurnEnd = "complete" | "interrupted" | "failed" | "gone";

/** Codes of notices after which the service ends a stream. */
const LAST_NOTICES: ReadonlySet<string> = new Set([
  "session_deleted",
  "session_not_found",
  "app_key_invalid",
  "user_token_expired",
]);

export class TurnFold {
  #turn: number | null;
  readonly #answers: Message[] = [];
  #answer: Message | null = null;
  #pending: readonly PendingAction[];
  #failure: string | null;
  #isIdle = false;
  #end: TurnEnd | null = null;

  constructor({ turn, answers, pendingActions, failure }: Omit<TurnState, "isOpen">) {
    this.#turn = turn;
    this.#pending = pendingActions;
    this.#failure = failure;
    for (const answer of answers) this.addMessage(answer);
  }

  /** Agent messages of the turn, oldest first: several if it was steered. */
  get answers(): readonly Message[] {
    return this.#answers;
  }

  /** The agent messages joined to one; `null` before the answer begins. */
  get answer(): Message | null {
    return this.#answer;
  }

  get pendingActions(): readonly PendingAction[] {
    return this.#pending;
  }

  /** True if the answer has open calls, and each of them waits for a person. */
  get isWaiting(): boolean {
    // Models may repeat the ids of calls in another message.
    const last = this.#answers.at(-1);
    return last !== undefined && waitsForPerson(last, this.#pending);
  }

  /** `null` while the turn is open. */
  get end(): TurnEnd | null {
    return this.#end;
  }

  /** Reason of the end `failed` or `gone`. `null` for other ends, and while it is not known: it follows the message. */
  get failure(): string | null {
    return this.#failure;
  }

  /** True if the session has become idle: no reason follows. */
  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Folds the state of a message. Ignores those of other turns. */
  addMessage(message: Message): void {
    const { sender, turn = null, status } = message;
    if (this.#turn !== null && turn !== this.#turn) return;
    if (sender === "user") {
      // The turn was interrupted before it began to answer.
      if (status === "interrupted" && this.#turn !== null) this.#end = "interrupted";
      return;
    }
    this.#turn = turn;
    this.#put(message);
    if (status !== "queued" && status !== "streaming" && isLastPart(message)) this.#end = status;
  }

  #put(message: Message): void {
    const at = this.#answers.findIndex(({ id }) => id === message.id);
    const last = this.#answers.at(-1);
    if (at >= 0) this.#answers[at] = withStreamedText(message, this.#answers[at]);
    // The fold may have started after the turn's first messages, which can still change.
    else if (last === undefined || firstStepOf(last) < firstStepOf(message)) this.#answers.push(message);
    this.#answer = joinAnswers(this.#answers);
  }

  apply(event: UpdateEvent): void {
    switch (event.type) {
      case "message_created":
      case "message_updated":
      case "message_completed":
        return this.addMessage(event.message);
      case "message_delta":
        return this.#onDelta(event);
      case "system_event":
        return this.#onSystemEvent(event.item);
      case "state_changed":
        if (event.status === "processing") return;
        this.#isIdle = true;
        this.#end ??= "interrupted";
        return;
      case "system_notice":
        if (!LAST_NOTICES.has(event.code)) return;
        this.#failure = event.message;
        this.#end = "gone";
        return;
      case "messages_removed":
        // Sent only after all turns have ended: these messages include the answer or follow it.
        if (this.#answer !== null) this.#end ??= "gone";
        return;
      default:
    }
  }

  #onDelta({ message_id: id, offset, text }: { message_id: string; offset: number; text: string }): void {
    const last = this.#answers.at(-1);
    // After a gap, the service sends the whole message.
    if (last?.id !== id || offset > last.content.length) return;
    this.#put({ ...last, content: last.content.slice(0, offset) + text });
  }

  #onSystemEvent({ type, payload }: SystemEvent): void {
    if (type === "action_requested") this.#pending = [...this.#pending, payload as unknown as PendingAction];
    else if (type === "action_resolved")
      this.#pending = this.#pending.filter(({ id }) => id !== payload["id"]);
    else if (type === "error" && (payload["turn"] ?? this.#answer?.turn) === this.#answer?.turn)
      this.#failure = asText(payload["message"]);
  }
}

/**
 * Restores streamed text that an interrupt did not store. An interrupt on another node stores the latest checkpoint, which
 * may be older than the stream. Sent text cannot be retracted.
 */
function withStreamedText(message: Message, streamed: Message | undefined): Message {
  const isCut = message.status === "interrupted" && streamed?.content.startsWith(message.content) === true;
  return isCut ? { ...message, content: streamed.content } : message;
}

function firstStepOf({ steps }: Message): number {
  return steps?.from ?? 1;
}

/** Returns true if the message has open calls, and each of them waits for a person. */
export function waitsForPerson(
  { tool_calls: calls = [], tool_results: results = [] }: Pick<Message, "tool_calls" | "tool_results">,
  pending: readonly PendingAction[],
): boolean {
  const done = new Set(results.map(({ call_id }) => call_id));
  const open = calls.filter(({ id }) => !done.has(id));
  return open.length > 0 && open.every(({ id }) => pending.some(({ call_id }) => call_id === id));
}
