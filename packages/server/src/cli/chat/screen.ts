// Writes the pieces of a conversation to the terminal, with colours and line breaks.

import { styleText } from "node:util";
import type { Piece, Tone } from "./transcript.ts";

type Style = Parameters<typeof styleText>[0];

const STYLES: Readonly<Record<Tone, Style>> = {
  user: "bold",
  tool: "cyan",
  quiet: "dim",
  warning: "yellow",
  error: "red",
};

export class Screen {
  readonly #terminal: NodeJS.WriteStream;
  readonly #output: { write(text: string): unknown };
  /** True if the cursor is at the start of a line. */
  #isAtStart = true;

  /** `terminal` determines whether colours are used. */
  constructor(terminal: NodeJS.WriteStream, output: { write(text: string): unknown } = terminal) {
    this.#terminal = terminal;
    this.#output = output;
  }

  get isAtStart(): boolean {
    return this.#isAtStart;
  }

  /** Writes pieces: a line gets a screen line of its own, text continues after the previous text. */
  write(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      if (piece.kind === "text") this.#text(piece.text);
      else this.line(piece.tone, piece.text);
    }
  }

  line(tone: Tone | null, text: string): void {
    this.endLine();
    this.#output.write(`${tone === null ? text : this.styled(tone, text)}\n`);
  }

  /** Ends the current line, if any, so that the next output starts a new one. */
  endLine(): void {
    if (!this.#isAtStart) this.#output.write("\n");
    this.#isAtStart = true;
  }

  /** Applies colour if the terminal supports it (NO_COLOR, FORCE_COLOR, TERM). */
  styled(tone: Tone, text: string): string {
    return styleText(STYLES[tone], text, { stream: this.#terminal });
  }

  #text(text: string): void {
    if (text === "") return;
    this.#output.write(text);
    this.#isAtStart = text.endsWith("\n");
  }
}
