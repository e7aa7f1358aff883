// Derives the events of a conversation. Events are final: the derivation stops at the first one that may still change,
// so later reads only append events. Streamed text is not an event (`liveMessage`).

import type { Message, ToolCall } from "@colloquy/protocol";
import { asText, formatEventId, type MessagePart, messageParts, outcomeOf } from "@colloquy/server/protocol";
import { END, formatTurnId, sequenceOf, turnAt } from "./positions.ts";
import type { View } from "./view.ts";
import { asPending, isWalletAction, secondsOf, toAction, type WalletAction } from "./wallet-actions.ts";
import type { AgentEvent, EventBody, EventPage, LiveMessage } from "./wire.ts";

/** Maximum number of events of a page. */
const PAGE = 500;

/** Returns the page of events after the sequence number `after`. It may be empty. */
export function pageAfter(view: View, after: number): EventPage {
  for (const page of pagesAfter(view, after)) return page;
  return pageOf(view, [], after);
}

/** Returns the pages of events after the sequence number `after`; none without an event. */
export function* pagesAfter(view: View, after: number): Generator<EventPage> {
  let events: AgentEvent[] = [];
  for (const event of eventsAfter(view, after)) {
    if (events.length === PAGE) {
      yield pageOf(view, events, after, true);
      events = [];
    }
    events.push(event);
  }
  if (events.length > 0) yield pageOf(view, events, after);
}

function pageOf(view: View, events: AgentEvent[], after: number, hasMore = false): EventPage {
  const cursor = formatEventId(view.incarnation, events.at(-1)?.sequence ?? after);
  return { session_id: view.snapshot.session_id, cursor, events, has_more: hasMore };
}

export function* eventsAfter(view: View, after: number): Generator<AgentEvent> {
  for (const turn of turnsFrom(view, turnAt(after))) {
    for (const event of turn.events()) if (event.sequence > after) yield event;
    if (!turn.isOver) return;
  }
}

/** A wallet action and its place among the events. */
export interface PlacedAction {
  readonly action: WalletAction;
  /** Returns the final event of the decided action. */
  readonly eventOf: (decided: WalletAction) => AgentEvent;
}

/**
 * Returns the wallet action with this id, or `null`. Finds it even if its events cannot be derived yet because an
 * earlier one may still change.
 */
export function walletActionIn(view: View, id: string): PlacedAction | null {
  for (const turn of turnsFrom(view, 0)) {
    const found = turn.walletAction(id);
    if (found !== null) return found;
  }
  return null;
}

function* turnsFrom(view: View, first: number): Generator<Turn> {
  const messages = messagesFrom(view.snapshot.messages, first);
  const turns = Map.groupBy(messages, ({ turn = 0 }) => turn);
  const newest = messages.reduce(
    (number, { turn = 0, status }) => (status === "queued" ? number : Math.max(number, turn)),
    0,
  );
  for (const number of [...turns.keys()].toSorted((left, right) => left - right)) {
    // Events of older services have no turn.
    if (number < first || number === 0) continue;
    yield new Turn(view, number, turns.get(number) ?? [], view.mayProceed && number >= newest);
  }
}

/** Returns the messages from turn `first` on. User messages, which start turns, are in the order of their turns. */
function messagesFrom(messages: readonly Message[], first: number): readonly Message[] {
  const start = messages.findLastIndex(
    ({ sender, turn = 0, steering }) => sender === "user" && turn <= first && steering?.status !== "read",
  );
  return messages.slice(Math.max(0, start));
}

/** Key and length of the text in progress. Its content is read only when it is sent, which is not after each change. */
export interface LiveText {
  /** Identifies the text: each text of an answer has its own key. */
  readonly key: string;
  /** Includes the blank line before the text. */
  readonly length: number;
}

/** Returns key and length of the text in progress; `null` if no answer is in progress. */
export function liveText(view: View): LiveText | null {
  const answer = answerInProgress(view);
  if (answer === null) return null;
  const { content, tool_calls: calls = [] } = answer;
  return { key: keyOf(answer, calls.length), length: content.length - (calls.at(-1)?.text_offset ?? 0) };
}

function answerInProgress({ snapshot }: View): Message | null {
  const answer = snapshot.messages.findLast(({ sender }) => sender === "agent");
  return answer?.status === "streaming" ? answer : null;
}

/** Returns the text in progress; `null` if there is none. */
export function liveMessage(view: View): LiveMessage | null {
  const answer = answerInProgress(view);
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

interface TurnPart {
  readonly message: Message;
  /** Number of the part in its turn. */
  readonly part: number;
  /** A text or a call of an answer; `null` for a steering message. */
  readonly item: MessagePart | null;
  /** Index of the item in its answer. */
  readonly index: number;
  readonly isInProgress: boolean;
}

class Turn {
  readonly #view: View;
  readonly #number: number;
  readonly #messages: readonly Message[];
  /** True if the missing answer, or the reason of a failure, may still come. */
  readonly #mayProceed: boolean;
  /** True once all events of the turn were derived. */
  isOver = false;

  constructor(view: View, number: number, messages: readonly Message[], mayProceed: boolean) {
    this.#view = view;
    this.#number = number;
    this.#messages = messages;
    this.#mayProceed = mayProceed;
  }

  *events(): Generator<AgentEvent> {
    const [first] = this.#messages;
    if (first?.sender === "user") yield* this.#user(first, 0);
    yield this.#event(0, 1, first, { type: "turn_state_changed", state: "processing" });
    for (const { message, part, item, index, isInProgress } of this.#parts()) {
      if (item === null) yield* this.#user(message, part);
      else if (item.kind === "call") {
        if (!(yield* this.#call(message, item.call, part, index))) return;
      } else {
        if (isInProgress) return;
        const content = withoutSeparator(item.text);
        if (content.trim() !== "") yield this.#text(message, content, part, index);
      }
    }
    yield* this.#end();
  }

  walletAction(id: string): PlacedAction | null {
    for (const { message, part, item } of this.#parts()) {
      if (item?.kind !== "call") continue;
      const action = this.#view.actionOf(message, item.call.id);
      if (action?.id === id && isWalletAction(action))
        return { action, eventOf: (decided) => this.#outcome(decided, item.call, part) };
    }
    return null;
  }

  /** Returns the parts after the first message, up to the end of an answer in progress. */
  *#parts(): Generator<TurnPart> {
    let part = 1;
    for (const message of this.#messages) {
      if (message.sender === "agent") {
        const isStreaming = message.status === "streaming";
        const items = messageParts(message);
        for (const [index, item] of items.entries()) {
          yield { message, part, item, index, isInProgress: isStreaming && index === items.length - 1 };
          part += 1;
        }
        if (isStreaming) return;
      } else if (message !== this.#messages[0]) {
        yield { message, part, item: null, index: 0, isInProgress: false };
        part += 1;
      }
    }
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
      // Events of a decided action are final, and another wallet may connect later.
      const state = action.status === "pending" ? this.#view.snapshot.user_state : null;
      const requested = toAction(asPending(action), label, state);
      yield this.#event(part, 0, { created_at: action.created_at }, requested);
      const awaiting = { type: "turn_state_changed", state: "awaiting_action" } as const;
      yield this.#event(part, 1, { created_at: action.created_at }, awaiting);
      if (action.status === "pending") return false;
      yield this.#outcome(action, call, part);
      const at = { created_at: action.resolved_at ?? action.created_at };
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

  #outcome(action: WalletAction, call: ToolCall, part: number): AgentEvent {
    const at = { created_at: action.resolved_at ?? action.created_at };
    return this.#event(part, 2, at, toAction(action, call.title ?? call.name, null));
  }

  *#end(): Generator<AgentEvent> {
    const last = this.#messages.findLast(({ sender }) => sender === "agent");
    const status = (last ?? this.#messages[0])?.status ?? "queued";
    // A steering message continues the turn in another message.
    if (last?.steps?.to !== undefined || status === "queued" || status === "streaming") return;
    // Turns of imported conversations may lack an answer.
    if (last === undefined && status === "complete" && this.#mayProceed) return;
    if (status === "failed") {
      const reason = this.#failure();
      // The reason follows the message.
      if (reason === null && this.#mayProceed) return;
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
