// What was written and not sent yet, for each conversation, as long as the tab is open.

import type { Kept } from "../connection/tab-storage.ts";

export interface Draft {
  /** `null` for a conversation that has not begun. */
  readonly sessionId: string | null;
  readonly text: string;
}

const PREFIX = "colloquy.draft.";

/** `sessionId` is `null` for a conversation that has not begun. */
export function loadDraft(storage: Kept, sessionId: string | null): string {
  try {
    return storage.getItem(entry(sessionId)) ?? "";
  } catch {
    return "";
  }
}

/** An empty draft leaves nothing behind. */
export function saveDraft(storage: Kept, sessionId: string | null, text: string): void {
  try {
    if (text === "") storage.removeItem(entry(sessionId));
    else storage.setItem(entry(sessionId), text);
  } catch {
    // Full or forbidden: then a draft lasts until another conversation is opened.
  }
}

/** What stands in a storage may be anything. */
export function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const { sessionId, text } = value as Readonly<Record<string, unknown>>;
  return typeof text === "string" && (sessionId === null || typeof sessionId === "string");
}

function entry(sessionId: string | null): string {
  return `${PREFIX}${sessionId ?? "new"}`;
}
