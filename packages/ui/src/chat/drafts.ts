// Unsent drafts, one per conversation, until the tab is closed.

import type { KeyValueStore } from "../service/tab-storage.ts";

export interface Draft {
  /** Session id; `null` for a conversation that has not started. */
  readonly sessionId: string | null;
  readonly text: string;
}

const PREFIX = "colloquy.draft.";

/** `sessionId` is `null` for a conversation that has not started. */
export function loadDraft(storage: KeyValueStore, sessionId: string | null): string {
  try {
    return storage.getItem(entry(sessionId)) ?? "";
  } catch {
    return "";
  }
}

/** Stores the draft; removes the entry of an empty one. */
export function saveDraft(storage: KeyValueStore, sessionId: string | null, text: string): void {
  try {
    if (text === "") storage.removeItem(entry(sessionId));
    else storage.setItem(entry(sessionId), text);
  } catch {
    // Storage is full or forbidden: the draft is lost when another conversation is opened.
  }
}

/** Moves what was typed while a first message was sent to the conversation that it has begun. */
export function moveDraft(storage: KeyValueStore, sessionId: string): void {
  saveDraft(storage, sessionId, loadDraft(storage, null));
  saveDraft(storage, null, "");
}

/** Storage may contain anything. */
export function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const { sessionId, text } = value as Readonly<Record<string, unknown>>;
  return typeof text === "string" && (sessionId === null || typeof sessionId === "string");
}

function entry(sessionId: string | null): string {
  return `${PREFIX}${sessionId ?? "new"}`;
}
