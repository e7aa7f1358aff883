// Folds events over a snapshot to get the next one (docs/api.md, "Following a conversation"). Pure: arguments
// are not modified, and unchanged parts stay the same objects, so that views can compare by identity.

import type {
  Message,
  MessageDelta,
  PendingAction,
  ReasoningDelta,
  SessionEvent,
  Snapshot,
  SystemEvent,
} from "./wire.ts";

/** An event of a stream that includes all groups. `reasoning_delta` only with the client's option `reasoning`. */
export type SessionUpdate = { session_id: string } & (SessionEvent | MessageDelta | ReasoningDelta);

export interface Folded {
  readonly snapshot: Snapshot;
  /** The part of the event that is new to the snapshot: known text is cut off. `null` if nothing is new. */
  readonly update: SessionUpdate | null;
}

/** Number of system events in a snapshot. */
const SYSTEM_EVENTS_SHOWN = 100;

/**
 * Folds an event, with its id if it has one, over a snapshot. Returns `null` if earlier events are missing:
 * fetch the snapshot.
 */
export function fold(snapshot: Snapshot, update: SessionUpdate, id: string | null): Folded | null {
  if (update.type === "message_delta") return grow(snapshot, update);
  // Snapshots do not contain reasoning.
  if (update.type === "reasoning_delta") return { snapshot, update };
  // A whole streaming message is for subscribers whose snapshot omitted it; for others it can only add text.
  const text = update.type === "message_updated" && id === null ? textOf(snapshot, update) : null;
  if (text !== null) return grow(snapshot, text);
  // A node that is behind the log may still send text of a finished message.
  if (id === null && update.type === "message_updated" && hasEnded(snapshot, update.message.id))
    return { snapshot, update: null };
  const change = changeOf(snapshot, update);
  if (change === null) return null;
  const changed = { ...snapshot, ...change };
  if (id !== null) changed.last_event_id = id;
  return { snapshot: changed, update: change === NOT_LOADED ? null : update };
}

function hasEnded({ messages }: Snapshot, id: string): boolean {
  const message = messages[lastIndexOf(messages, id)];
  return message !== undefined && message.status !== "queued" && message.status !== "streaming";
}

/** Result of an event for a message that is not loaded. */
const NOT_LOADED = {};

/** Returns `null` if the event type is unknown, because a newer service may send it, or if messages are missing. */
function changeOf(snapshot: Snapshot, update: SessionEvent): Partial<Snapshot> | null {
  switch (update.type) {
    case "title_changed":
      return { title: update.new_title };
    case "message_created":
    case "message_updated":
    case "message_completed":
      return messageChange(snapshot, update);
    case "state_changed": {
      const { status, model, app, user_state } = update;
      return { status, is_processing: status === "processing", model, app, user_state };
    }
    case "system_event":
      return {
        system_events: [...snapshot.system_events, update.item].slice(-SYSTEM_EVENTS_SHOWN),
        pending_actions: pendingAfter(snapshot.pending_actions, update.item),
      };
    case "messages_removed":
      return withoutTail(snapshot, update.from);
    case "action_claimed":
      return { pending_actions: claimedIn(snapshot.pending_actions, update) };
    case "tool_update":
    case "tool_complete":
    case "system_notice":
      return {};
    default:
      return null;
  }
}

function messageChange(
  { messages, messages_before: before = 0 }: Snapshot,
  { type, message, index }: Extract<SessionEvent, { readonly message: Message }>,
): Partial<Snapshot> | null {
  if (before > 0 && lastIndexOf(messages, message.id) < 0) {
    // Events of an older service have no index: it appends created messages.
    if (index === undefined && type !== "message_created") return null;
    if (index !== undefined && index < before) return NOT_LOADED;
  }
  return { messages: withMessage(messages, message, index === undefined ? undefined : index - before) };
}

/** Removes a message, all messages after it, and the system events that are not older. */
function withoutTail(
  { messages, messages_before: before = 0, system_events }: Snapshot,
  from: string,
): Partial<Snapshot> | null {
  const at = messages.findIndex(({ id }) => id === from);
  const created = messages[at]?.created_at;
  // None of the remaining messages is loaded.
  if (created === undefined || (at === 0 && before > 0)) return null;
  return {
    messages: messages.slice(0, at),
    system_events: system_events.filter(({ created_at }) => created_at < created),
  };
}

/** Inserts a message that the snapshot may have omitted at its index in the array. */
function withMessage(messages: Message[], message: Message, index = messages.length): Message[] {
  const at = lastIndexOf(messages, message.id);
  const [before, after] = at < 0 ? [index, index] : [at, at + 1];
  return [...messages.slice(0, before), message, ...messages.slice(after)];
}

/** Searches from the end, because recent items change most often. */
function lastIndexOf(messages: readonly Message[], id: string): number {
  let at = messages.length - 1;
  while (at >= 0 && messages[at]?.id !== id) at -= 1;
  return at;
}

/** Returns the snapshot as the service shows it: without an answer that has neither text nor calls yet. */
export function visible(snapshot: Snapshot): Snapshot {
  const messages = snapshot.messages.filter((message) => !isHidden(message));
  return messages.length === snapshot.messages.length ? snapshot : { ...snapshot, messages };
}

/**
 * Returns `after` with the hidden answer of `before` that it omits, so that no event reports its creation
 * again. Drops it if other messages of `before` are missing too: the session was deleted and created anew.
 */
export function withHidden(before: Snapshot, after: Snapshot): Snapshot {
  const known = new Set(after.messages.map(({ id }) => id));
  const missing = before.messages.filter(({ id }) => !known.has(id));
  if (missing.length === 0 || !missing.every(isHidden)) return after;
  const shift = (before.messages_before ?? 0) - (after.messages_before ?? 0);
  const messages = missing.reduce<Message[]>(
    (messages, message) => withMessage(messages, message, before.messages.indexOf(message) + shift),
    after.messages,
  );
  return { ...after, messages };
}

function isHidden({ sender, status, content, tool_calls }: Message): boolean {
  return sender === "agent" && status === "streaming" && content === "" && tool_calls === undefined;
}

function pendingAfter(pending: PendingAction[], { type, payload }: SystemEvent): PendingAction[] {
  if (type === "action_requested") return [...pending, payload as PendingAction];
  return type === "action_resolved" ? pending.filter(({ id }) => id !== payload["id"]) : pending;
}

function claimedIn(
  pending: PendingAction[],
  { id, claim_expires_at }: Extract<SessionEvent, { type: "action_claimed" }>,
): PendingAction[] {
  return pending.map((action) =>
    action.kind === "client_tool" && action.id === id ? { ...action, claim_expires_at } : action,
  );
}

/** Returns a whole message as a text delta if nothing but its text is new, else `null`. */
function textOf(
  { messages }: Snapshot,
  { session_id, message }: { session_id: string; message: Message },
): ({ session_id: string } & MessageDelta) | null {
  const known = messages.find(({ id }) => id === message.id);
  if (JSON.stringify({ ...known, content: "" }) !== JSON.stringify({ ...message, content: "" })) return null;
  return { session_id, type: "message_delta", message_id: message.id, offset: 0, text: message.content };
}

function grow(snapshot: Snapshot, update: { session_id: string } & MessageDelta): Folded | null {
  const message = snapshot.messages[lastIndexOf(snapshot.messages, update.message_id)];
  if (message === undefined || update.offset > message.content.length) return null;
  const { content, status } = message;
  // A delta at offset 0 contains the whole text and replaces the known text, which may be longer or different
  // after a crash.
  const isOther = update.offset === 0 && !update.text.startsWith(content);
  const offset = isOther ? 0 : content.length;
  const text = isOther ? update.text : update.text.slice(offset - update.offset);
  if (status !== "streaming" || (text === "" && !isOther)) return { snapshot, update: null };
  const messages = withMessage(snapshot.messages, { ...message, content: content.slice(0, offset) + text });
  return { snapshot: { ...snapshot, messages }, update: { ...update, offset, text } };
}
