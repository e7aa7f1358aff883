// A session as the in-memory services store it.

import type { PersistedMessage, Snapshot, Thread } from "@colloquy/protocol";

export const EPOCH = "2026-11-20T12:00:00.000Z";

export interface KeptSession {
  /** The App of the session. */
  app: string | null;
  readonly thread: { -readonly [Name in keyof Thread]: Thread[Name] };
  publicKey: string | null;
  readonly messages: PersistedMessage[];
}

/** Returns a new session. */
export function keptSession(id: string): KeptSession {
  const thread = {
    session_id: id,
    title: "New Chat",
    app: "default",
    pinned: false,
    created_at: EPOCH,
    updated_at: EPOCH,
  };
  return { app: null, thread, publicKey: null, messages: [] };
}

export function snapshotOf({ thread, messages }: KeptSession): Snapshot {
  return {
    messages: messages.map((message) => ({
      sender: "user",
      content: message.content,
      id: message.id,
      created_at: EPOCH,
      status: "complete",
    })),
    system_events: [],
    pending_actions: [],
    title: thread.title,
    is_processing: false,
    user_state: null,
    session_id: thread.session_id,
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: `life-${messages.length}`,
  };
}
