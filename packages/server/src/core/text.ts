// Text that can be stored, sent and shown everywhere: no NUL (PostgreSQL's text refuses it) and no lone
// surrogate (UTF-8 cannot carry it). Clients that send such text get a 400; models and tools are cleaned.

/** Whether a client may send this text (contract section 6). */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The text without NUL, each lone surrogate replaced by U+FFFD. */
export function cleanText(text: string): string {
  if (isCleanText(text)) return text;
  return text.replaceAll("\0", "").toWellFormed();
}
