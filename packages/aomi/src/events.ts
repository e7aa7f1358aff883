// Derives the events of a conversation. They are final: the derivation stops at the first thing that may still change,
// so that reading later only appends. Streamed text is not an event (`liveMessage`).

import type { Message, ToolCall } from "@colloquy/protocol";
import { asText, formatEventId, messageParts, outcomeOf } from "@colloquy/server/protocol";
import { END, formatTurnId, sequenceOf, turnAt } from "./positions.ts";
import type { View } from "./view.ts";
import { asPending, isWalletAction, secondsOf, toAction } from "./wallet-actions.ts";
import type { AgentEvent, EventBody, EventPage, LiveMessage } from "./wire.ts";

/** Events of a page. */
const PAGE = 500;

/** Returns the page of events after the one with the number `after`. */
export function pageAfter(view: View, after: number): EventPage {
  const events: AgentEvent[] = [];
  let hasMore = false;
  for (const event of eventsAfter(view, after)) {
    hasMore = events.length === PAGE;
    if (hasMore) break;
    events.push(event);
  }
  const last = events.at(-1)?.sequence ?? after;
  const cursor = formatEventId(view.incarnation, last);
  return { session_id: view.snapshot.session_id, cursor, events, has_more: hasMore };
}

export function* eventsAfter(view: View, after: number): Generator<AgentEvent> {
  const first = turnAt(after);
  const turns = Map.groupBy(view.snapshot.messages, ({ turn = 0 }) => turn);
  for (const number of [...turns.keys()].toSorted((left, right) => left - right)) {
    // Events of older services have no turn.
    if (number < first || number === 0) continue;
    const turn = new Turn(view, number, turns.get(number) ?? []);
    for (const event of turn.events()) if (event.sequence > after) yield event;
    if (!turn.isOver) return;
  }
}

/** Returns the text in progress; `null` if there is none. */
export function liveMessage(view: View): LiveMessage | null {
  const answer = view.snapshot.messages.findLast(
    ({ sender, status }) => sender === "agent" && status === "streaming",
  );
  if (answer?.turn === undefined) return null;
  const parts = messageParts(answer);
  const last = parts.at(-1);
  const content = last?.kind === "text" ? withoutSeparator(last.text) : "";
  if (content.trim() === "") return null;
  return {
    type: "message",
    turn_id: formatTurnId(view.incarnation, answer.turn),
    revision: content.length,
    message: { message_key: keyOf(answer, parts.length - 1), sender: "agent", content, is_streaming: true },
  };
}

function keyOf({ id }: Message, part: number): string {
  return `${id}-${part}`;
}

/** Strips the blank line that separates the text of a step from that of the previous step. */
function withoutSeparator(text: string): string {
  return text.replace(/^\n+/, "");
}

class Turn {
  readonly #view: View;
  readonly #number: number;
  readonly #messages: readonly Message[];
  /** True once all events of the turn were derived. */
  isOver = false;

  constructor(view: View, number: number, messages: readonly Message[]) {
    this.#view = view;
    this.#number = number;
    this.#messages = messages;
  }

  *events(): Generator<AgentEvent> {
    let part = 0;
    const [first] = this.#messages;
    if (first?.sender === "user") yield* this.#user(first, part);
    yield this.#event(part, 1, first, { type: "turn_state_changed", state: "processing" });
    part += 1;
    for (const message of this.#messages) {
      if (message.sender === "agent") {
        const parts = messageParts(message);
        const hasEnded = message.status !== "streaming";
        for (const [index, item] of parts.entries()) {
          if (item.kind === "call") {
            if (!(yield* this.#call(message, item.call, part, index))) return;
          } else {
            if (!hasEnded && index === parts.length - 1) return;
            const content = withoutSeparator(item.text);
            if (content.trim() !== "") yield this.#text(message, content, part, index);
          }
          part += 1;
        }
        if (!hasEnded) return;
      } else if (message !== first) {
        yield* this.#user(message, part);
        part += 1;
      }
    }
    yield* this.#end();
  }

  *#user(message: Message, part: number): Generator<AgentEvent> {
    const { id, content, attachments = [] } = message;
    // Turns of imported conversations may lack a user message.
    if (content === "" && attachments.length === 0) return;
    const body = { type: "message", message_key: id, sender: "user", content, is_streaming: false } as const;
    yield this.#event(part, 0, message, body);
  }

  #text(message: Message, content: string, part: number, index: number): AgentEvent {
    const message_key = keyOf(message, index);
    const body = { type: "message", message_key, sender: "agent", content, is_streaming: false } as const;
    return this.#event(part, 0, message, body);
  }

  /** Returns false if the call is open. */
  *#call(message: Message, call: ToolCall, part: number, index: number): Generator<AgentEvent, boolean> {
    const label = call.title ?? call.name;
    const action = this.#view.actionOf(message, call.id);
    if (action !== null && isWalletAction(action)) {
      const state = this.#view.snapshot.user_state;
      const requested = toAction(asPending(action), label, state);
      yield this.#event(part, 0, { created_at: action.created_at }, requested);
      const awaiting = { type: "turn_state_changed", state: "awaiting_action" } as const;
      yield this.#event(part, 1, { created_at: action.created_at }, awaiting);
      if (action.status === "pending") return false;
      const at = { created_at: action.resolved_at ?? action.created_at };
      yield this.#event(part, 2, at, toAction(action, label, state));
      yield this.#event(part, 3, at, { type: "turn_state_changed", state: "processing" });
    } else if (action?.kind === "approval" || action?.kind === "question") {
      const content = action.kind === "question" ? action.request.question : `${label} waits for a decision.`;
      const notice = { type: "message", sender: "notice", content, is_streaming: false } as const;
      yield this.#event(part, 0, action, { ...notice, message_key: keyOf(message, index) });
    }
    const outcome = outcomeOf(call, message);
    if (outcome === null) return message.status !== "streaming";
    const result =
      outcome.state === "output-available" ? (outcome.output as never) : { error: outcome.errorText };
    yield this.#event(part, 4, message, {
      type: "tool_complete",
      id: keyOf(message, index),
      call_id: call.id,
      tool_name: call.name,
      result,
    });
    return true;
  }

  *#end(): Generator<AgentEvent> {
    const last = this.#messages.findLast(({ sender }) => sender === "agent");
    const status = (last ?? this.#messages[0])?.status ?? "queued";
    // A steering message continues the turn in another message.
    if (last?.steps?.to !== undefined || status === "queued" || status === "streaming") return;
    // A message that has been accepted, and whose answer has not begun.
    if (last === undefined && status === "complete") return;
    if (status === "failed") {
      const reason = this.#failure();
      // The reason follows the message.
      if (reason === null && this.#mayFail()) return;
      const message = reason ?? "The assistant could not finish this answer.";
      yield this.#event(END, 0, last, { type: "error", message });
    }
    const { title } = this.#view.snapshot;
    yield this.#event(END, 1, last, { type: "title_changed", title });
    yield this.#event(END, 2, last, { type: "turn_state_changed", state: status });
    this.isOver = true;
  }

  #failure(): string | null {
    const { system_events: events } = this.#view.snapshot;
    const failed = events.findLast(
      ({ type, payload }) => type === "error" && payload["turn"] === this.#number,
    );
    return failed === undefined ? null : asText(failed.payload["message"]);
  }

  #mayFail(): boolean {
    const { messages, is_processing } = this.#view.snapshot;
    return (
      is_processing && messages.every(({ turn = 0, status }) => turn <= this.#number || status === "queued")
    );
  }

  #event(
    part: number,
    slot: number,
    at: Pick<Message, "created_at"> | undefined,
    body: EventBody,
  ): AgentEvent {
    const sequence = sequenceOf(this.#number, part, slot);
    const { incarnation } = this.#view;
    const time = at ?? this.#messages[0];
    return {
      event_id: formatEventId(incarnation, sequence),
      sequence,
      turn_id: formatTurnId(incarnation, this.#number),
      occurred_at: time === undefined ? 0 : secondsOf(time.created_at),
      ...body,
    };
  }
}
