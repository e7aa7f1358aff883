import { cleanText } from "../core/text.ts";

/**
 * Cleans text that arrives in pieces: a surrogate pair that a provider has cut in two is put together again before lone
 * surrogates are replaced.
 */
export class StreamedText {
  #held = "";

  /** The clean text that may go on now; a high surrogate at the end is held until the next piece, whatever NUL stands between. */
  push(piece: string): string {
    const text = this.#held + piece.replaceAll("\0", "");
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return cleanText(text.slice(0, cut));
  }

  /** What was held when no more comes. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}
