import type { Action, Message, Snapshot } from "@colloquy/protocol";
import { View } from "../view.ts";

export const SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";

/** Returns the view of a processing session with these messages. */
export function viewOf(
  messages: Message[],
  more: Partial<Snapshot> = {},
  actions: readonly Action[] = [],
): View {
  const snapshot: Snapshot = {
    messages,
    system_events: [],
    pending_actions: [],
    title: "Tea",
    is_processing: true,
    user_state: null,
    session_id: SESSION,
    app: "default",
    status: "processing",
    model: "demo/assistant",
    last_event_id: "life-9",
    ...more,
  };
  return new View(snapshot, actions);
}
