import { cleanText } from "../core/text.ts";

/**
 * Cleans streamed text: joins a surrogate pair that was split between pieces, then replaces lone surrogates.
 */
export class StreamedText {
  #held = "";

  /**
   * Returns the clean text so far; holds back a trailing high surrogate until the next piece, ignoring NULs
   * between.
   */
  push(piece: string): string {
    const text = this.#held + piece.replaceAll("\0", "");
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return cleanText(text.slice(0, cut));
  }

  /** Returns the text held back at the end of the stream. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}
