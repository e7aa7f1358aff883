// Derives the events between two snapshots, for subscribers while streams are blocked and across gaps.

import type { SessionUpdate } from "./fold.ts";
import type { Message, MessageDelta, SessionEvent, Snapshot } from "./wire.ts";

type Change = SessionEvent | MessageDelta;

/**
 * Returns events that fold `before` into `after`, in a possible order. If no events can (messages are gone:
 * the session was deleted and created anew), returns a single `system_notice` with the code `resync`.
 */
export function difference(before: Snapshot, after: Snapshot): SessionUpdate[] {
  const { session_id, messages_before: first = 0 } = after;
  if (first !== (before.messages_before ?? 0)) return [resync(session_id)];
  const known = new Map(before.messages.map((message) => [message.id, message]));
  const kept = after.messages.filter(({ id }) => known.has(id));
  // `after` must keep all known messages in order. New ones may stand between them, such as an answer before
  // queued messages.
  if (before.messages.some(({ id }, index) => kept[index]?.id !== id)) return [resync(session_id)];
  const messageChanges: Change[] = [
    ...systemEvents(before, after),
    ...(before.title === after.title ? [] : [{ type: "title_changed" as const, new_title: after.title }]),
    ...after.messages.flatMap((message, index) =>
      messageEvents(known.get(message.id), message, first + index),
    ),
    ...claimEvents(before, after),
    ...stateEvents(before, after),
  ];
  return messageChanges.map((happening) => ({ session_id, ...happening }));
}

/** Returns a notice that asks to read the snapshot again. */
export function resync(session_id: string): SessionUpdate {
  const message = "Events are missing; read the snapshot.";
  return { session_id, type: "system_notice", message, level: "info", code: "resync" };
}

function systemEvents(before: Snapshot, after: Snapshot): SessionEvent[] {
  const known = new Set(before.system_events.map(({ id }) => id));
  return after.system_events
    .filter(({ id }) => !known.has(id))
    .map((item) => ({ type: "system_event", item }));
}

/** Returns events for changed claims. An action in `systemEvents` starts without a claim. */
function claimEvents(before: Snapshot, after: Snapshot): SessionEvent[] {
  const known = new Map(claims(before));
  return claims(after)
    .filter(([id, claim]) => (known.get(id) ?? null) !== claim)
    .map(([id, claim_expires_at]) => ({ type: "action_claimed", id, claim_expires_at }));
}

function claims({ pending_actions }: Snapshot): (readonly [id: string, expires: string | null])[] {
  return pending_actions.flatMap((action) =>
    action.kind === "client_tool" ? [[action.id, action.claim_expires_at] as const] : [],
  );
}

function messageEvents(before: Message | undefined, after: Message, index: number): Change[] {
  const isOver = after.status !== "queued" && after.status !== "streaming";
  if (before === undefined) {
    const created = { type: "message_created" as const, message: after, index };
    return isOver && after.sender === "agent"
      ? [created, { type: "message_completed", message: after }]
      : [created];
  }
  if (isSame(before, after)) return [];
  const { content } = before;
  const hasGrown = after.status === "streaming" && after.content.startsWith(content);
  if (hasGrown && isSame(before, { ...after, content })) {
    const text = after.content.slice(content.length);
    return [{ type: "message_delta", message_id: after.id, offset: content.length, text }];
  }
  return [{ type: isOver ? "message_completed" : "message_updated", message: after }];
}

function stateEvents(before: Snapshot, after: Snapshot): SessionEvent[] {
  const [old, now] = [before, after].map(({ status, model, app, user_state }) => ({
    status,
    model,
    app,
    user_state,
  }));
  return now === undefined || isSame(old, now) ? [] : [{ type: "state_changed", ...now }];
}

/** Returns true if two JSON values are equal, ignoring key order. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return one === other;
  const [left, right] = [one, other].map((value) => new Map(Object.entries(value)));
  if (left === undefined || left.size !== right?.size) return false;
  return [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)));
}
