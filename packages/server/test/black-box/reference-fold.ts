// An independent implementation of contract section 5: folds events over a snapshot to get the next one.

import type { PendingAction, Snapshot } from "@colloquy/protocol";
import type { ReadEvent } from "./event-reader.ts";

/** Returns the snapshot after the events. Throws on gaps and duplicates, which the contract excludes. */
export function fold(before: Snapshot, events: readonly ReadEvent[]): Snapshot {
  const snapshot = structuredClone(before);
  for (const { id, event } of events) {
    if (id !== null) advance(snapshot, id);
    switch (event.type) {
      case "title_changed":
        if ("new_title" in event) snapshot.title = event.new_title;
        break;
      case "message_created":
      case "message_updated":
      case "message_completed": {
        const { message, index = snapshot.messages.length } = event;
        const place = snapshot.messages.findIndex((other) => other.id === message.id);
        // The snapshot leaves out an answer without content.
        if (place === -1) snapshot.messages.splice(index, 0, message);
        else snapshot.messages[place] = message;
        break;
      }
      case "message_delta": {
        const message = snapshot.messages.find((other) => other.id === event.message_id);
        if (message === undefined) throw new Error("message_delta of an unknown message");
        if (event.offset > message.content.length) throw new Error("gap between deltas");
        if (event.offset === 0) message.content = event.text;
        else message.content += event.text.slice(message.content.length - event.offset);
        break;
      }
      case "messages_removed": {
        const place = snapshot.messages.findIndex(({ id }) => id === event.from);
        const [first] = snapshot.messages.splice(place);
        if (place < 0 || first === undefined) throw new Error("messages_removed of an unknown message");
        snapshot.system_events = snapshot.system_events.filter((item) => item.created_at < first.created_at);
        break;
      }
      case "state_changed":
        snapshot.status = event.status;
        snapshot.is_processing = event.status === "processing";
        snapshot.model = event.model;
        snapshot.app = event.app;
        snapshot.user_state = event.user_state;
        break;
      case "system_event":
        snapshot.system_events = [...snapshot.system_events, event.item].slice(-100);
        if (event.item.type === "action_requested") {
          snapshot.pending_actions.push(event.item.payload as PendingAction);
        } else if (event.item.type === "action_resolved") {
          const { id } = event.item.payload;
          snapshot.pending_actions = snapshot.pending_actions.filter((action) => action.id !== id);
        }
        break;
      case "action_claimed": {
        const { id, claim_expires_at } = event;
        snapshot.pending_actions = snapshot.pending_actions.map((action) =>
          action.id === id && action.kind === "client_tool" ? { ...action, claim_expires_at } : action,
        );
        break;
      }
      default:
    }
  }
  return visible(snapshot);
}

/** Leaves out an answer without text and calls, as snapshots do. */
function visible(snapshot: Snapshot): Snapshot {
  const messages = snapshot.messages.filter(
    ({ sender, status, content, tool_calls: calls }) =>
      sender !== "agent" || status !== "streaming" || content !== "" || calls !== undefined,
  );
  return { ...snapshot, messages };
}

/** Ids have no gaps within an incarnation. */
function advance(snapshot: Snapshot, id: string): void {
  const [incarnation, number] = snapshot.last_event_id.split("-");
  const expected = `${incarnation}-${Number(number) + 1}`;
  if (id !== expected) throw new Error(`expected id ${expected}, not ${id}`);
  snapshot.last_event_id = id;
}
