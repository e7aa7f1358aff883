// Text that every store and client accepts: no NUL (PostgreSQL rejects it) and no lone surrogate (UTF-8 cannot
// encode it). Clients that send such text get a 400; text of models and tools is cleaned.

/** Returns true if a client may send this text (contract section 6). */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Removes NUL and replaces lone surrogates by U+FFFD. */
export function cleanText(text: string): string {
  if (isCleanText(text)) return text;
  return text.replaceAll("\0", "").toWellFormed();
}

/** Decodes percent-encoding. Returns text that is not valid percent-encoding unchanged. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
