// Folds events over a snapshot (contract section 5, "The fold"). An independent implementation that shares
// nothing with the server.

import { isDeepStrictEqual } from "node:util";
import type { Message, PendingAction, Snapshot, SystemEvent, UpdateEvent } from "@colloquy/protocol";

/** Number of system events in a snapshot (contract section 2). */
const SYSTEM_EVENTS_SHOWN = 100;

/** A client's state of a session after an event. Immutable. */
export type FoldState = Snapshot;

/** Splits an event id, which clients need only to check for gaps (contract section 5). */
export function splitEventId(id: string): { readonly incarnation: string; readonly number: number } {
  const dash = id.lastIndexOf("-");
  return { incarnation: id.slice(0, Math.max(0, dash)), number: Number(id.slice(dash + 1)) };
}

/** Returns the state after a numbered event with this id. */
export function foldEvent(state: FoldState, event: UpdateEvent, id: string): FoldState {
  return { ...state, ...changeOf(state, event), last_event_id: id };
}

/**
 * Returns the state after a delta; `null` if earlier text is missing, so that the snapshot must be fetched
 * again.
 */
export function foldDelta(
  state: FoldState,
  delta: { readonly message_id: string; readonly offset: number; readonly text: string },
): FoldState | null {
  const message = state.messages.find(({ id }) => id === delta.message_id);
  if (message === undefined || message.content.length < delta.offset) return null;
  if (message.status !== "streaming") return state;
  // A delta at offset 0 carries the whole text, which may be shorter than before a crash (contract section
  // 5).
  const known = delta.offset === 0 ? "" : message.content;
  const content = known + delta.text.slice(known.length - delta.offset);
  return content === message.content
    ? state
    : { ...state, messages: replaced(state.messages, { ...message, content }) };
}

/**
 * Returns the differences between fold and snapshot; empty if they agree. With `whileStreaming`, text of
 * streaming messages may differ: deltas are not numbered.
 */
export function compareFold(fold: FoldState, snapshot: Snapshot, whileStreaming: boolean): string[] {
  const seen = whileStreaming ? withoutStreamingText : visible;
  const [left, right] = [seen(fold), seen(snapshot)] as Record<string, unknown>[];
  return Object.keys({ ...left, ...right })
    .filter((key) => !isDeepStrictEqual(left?.[key], right?.[key]))
    .map((key) => `${key}: ${difference(left?.[key], right?.[key])}`);
}

/** Describes two different values; of two lists only the first items that differ. */
function difference(fold: unknown, snapshot: unknown): string {
  if (!Array.isArray(fold) || !Array.isArray(snapshot)) {
    return `fold ${abridge(fold)}, snapshot ${abridge(snapshot)}`;
  }
  const at = [...fold, null].findIndex((item, index) => !isDeepStrictEqual(item, snapshot[index]));
  return `${fold.length} and ${snapshot.length} items, item ${at}: ${difference(fold[at], snapshot[at])}`;
}

function changeOf(state: FoldState, event: UpdateEvent): Partial<FoldState> {
  switch (event.type) {
    case "title_changed":
      return { title: event.new_title };
    case "message_created":
    case "message_updated":
    case "message_completed":
      return { messages: replaced(state.messages, event.message, event.index) };
    case "messages_removed":
      return withoutTail(state, event.from);
    case "state_changed":
      return {
        status: event.status,
        is_processing: event.status === "processing",
        model: event.model,
        app: event.app,
        user_state: event.user_state,
      };
    case "system_event":
      return {
        system_events: [...state.system_events, event.item].slice(-SYSTEM_EVENTS_SHOWN),
        pending_actions: pendingAfter(state.pending_actions, event.item),
      };
    case "action_claimed":
      return { pending_actions: claimedIn(state.pending_actions, event) };
    case "tool_update":
    case "tool_complete":
    case "system_notice":
    case "message_delta":
    case "reasoning_delta":
      return {};
  }
}

function withoutTail({ messages, system_events }: FoldState, from: string): Partial<FoldState> {
  const at = messages.findIndex(({ id }) => id === from);
  const first = messages[at];
  if (first === undefined) throw new Error(`messages_removed from ${from}, which is unknown`);
  return {
    messages: messages.slice(0, at),
    system_events: system_events.filter(({ created_at }) => created_at < first.created_at),
  };
}

function pendingAfter(pending: readonly PendingAction[], { type, payload }: SystemEvent): PendingAction[] {
  if (type === "action_requested") return [...pending, payload as PendingAction];
  return pending.filter(({ id }) => type !== "action_resolved" || id !== payload["id"]);
}

function claimedIn(
  pending: readonly PendingAction[],
  { id, claim_expires_at }: Extract<UpdateEvent, { type: "action_claimed" }>,
): PendingAction[] {
  return pending.map((action) =>
    action.kind === "client_tool" && action.id === id ? { ...action, claim_expires_at } : action,
  );
}

/** Inserts an unknown message at the event's index: a snapshot leaves out an answer without content. */
function replaced(messages: readonly Message[], message: Message, index = messages.length): Message[] {
  const at = messages.findIndex(({ id }) => id === message.id);
  return at < 0 ? messages.toSpliced(index, 0, message) : messages.with(at, message);
}

/** Leaves out an answer without text and calls, as snapshots do. */
function visible(state: Snapshot): Snapshot {
  const messages = state.messages.filter(
    ({ sender, status, content, tool_calls: calls }) =>
      sender !== "agent" || status !== "streaming" || content !== "" || calls !== undefined,
  );
  return { ...state, messages };
}

function withoutStreamingText(state: Snapshot): Snapshot {
  // Without calls, an answer is only visible if it has text.
  const messages = state.messages
    .filter(({ status, tool_calls: calls }) => status !== "streaming" || calls !== undefined)
    .map((message) => (message.status === "streaming" ? { ...message, content: "" } : message));
  return { ...state, messages };
}

function abridge(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 1_000 ? text : `${text.slice(0, 500)} … ${text.slice(-500)}`;
}

/** Returns true if an event is later in the log of the same incarnation; `false` without another one. */
export function isAfter(id: string, position: string | undefined): boolean {
  if (position === undefined) return false;
  const [one, other] = [splitEventId(id), splitEventId(position)];
  return one.incarnation === other.incarnation && one.number > other.number;
}
