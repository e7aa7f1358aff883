// Snapshots for tests.

import type { Message, PendingAction, Snapshot } from "../src/wire.ts";

export const SESSION = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const AT = "2026-11-20T17:00:00.000Z";

export function snapshot(parts: Partial<Snapshot>): Snapshot {
  return {
    messages: [],
    system_events: [],
    pending_actions: [],
    title: "New Chat",
    is_processing: false,
    user_state: null,
    session_id: SESSION,
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: "a-1",
    ...parts,
  };
}

export function message(
  id: string,
  sender: Message["sender"],
  content: string,
  parts: Partial<Message> = {},
): Message {
  return { sender, content, id, created_at: AT, status: "complete", ...parts };
}

export function action(id: string): PendingAction {
  return {
    id,
    kind: "approval",
    tool: "calculator",
    call_id: "call",
    created_at: AT,
    expires_at: AT,
    request: { tool: "calculator", input: {} },
  };
}
