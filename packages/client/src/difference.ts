// What must have happened between two snapshots, as events: for who follows events while streams are blocked, or over a gap.

import type { SessionUpdate } from "./fold.ts";
import type { Message, MessageDelta, SessionEvent, Snapshot } from "./wire.ts";

type Happening = SessionEvent | MessageDelta;

/**
 * Events that make `after` of `before` when they are folded, in an order in which they may have come. Where no events can (messages are
 * gone: the session was deleted and begun anew), a `system_notice` with the code `resync` alone: look at the snapshot.
 */
export function difference(before: Snapshot, after: Snapshot): SessionUpdate[] {
  const { session_id } = after;
  const known = new Map(before.messages.map((message) => [message.id, message]));
  const kept = after.messages.filter(({ id }) => known.has(id));
  // An answer may appear before messages that are known already: it has begun meanwhile.
  if (before.messages.some(({ id }, index) => kept[index]?.id !== id)) return [resync(session_id)];
  const happenings: Happening[] = [
    ...systemEvents(before, after),
    ...(before.title === after.title ? [] : [{ type: "title_changed" as const, new_title: after.title }]),
    ...after.messages.flatMap((message, index) => messageEvents(known.get(message.id), message, index)),
    ...stateEvents(before, after),
  ];
  return happenings.map((happening) => ({ session_id, ...happening }));
}

/** Says that the snapshot is to be looked at anew. */
export function resync(session_id: string): SessionUpdate {
  const message = "Events are missing: look at the snapshot.";
  return { session_id, type: "system_notice", message, level: "info", code: "resync" };
}

function systemEvents(before: Snapshot, after: Snapshot): SessionEvent[] {
  const known = new Set(before.system_events.map(({ id }) => id));
  return after.system_events
    .filter(({ id }) => !known.has(id))
    .map((item) => ({ type: "system_event", item }));
}

function messageEvents(before: Message | undefined, after: Message, index: number): Happening[] {
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

/** Whether two JSON values are the same, in whatever order their keys stand. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return one === other;
  const [left, right] = [one, other].map((value) => new Map(Object.entries(value)));
  if (left === undefined || left.size !== right?.size) return false;
  return [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)));
}
