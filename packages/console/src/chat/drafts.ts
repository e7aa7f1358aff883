// What was written and not sent yet, for each conversation, as long as the tab is open.

type Kept = Pick<Storage, "getItem" | "setItem" | "removeItem">;

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

function entry(sessionId: string | null): string {
  return `${PREFIX}${sessionId ?? "new"}`;
}
