// Where a conversation is written: pieces of it in their colours, each where it belongs.

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
  /** Whether the last thing that was written ended its line. */
  #isAtStart = true;

  /** `terminal` decides about colours. */
  constructor(terminal: NodeJS.WriteStream, output: { write(text: string): unknown } = terminal) {
    this.#terminal = terminal;
    this.#output = output;
  }

  get isAtStart(): boolean {
    return this.#isAtStart;
  }

  /** Writes pieces; a line begins and ends a line of the screen, a text goes on behind the last one. */
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

  /** Whatever comes next begins a line. */
  endLine(): void {
    if (!this.#isAtStart) this.#output.write("\n");
    this.#isAtStart = true;
  }

  /** In colour on a terminal that shall have some (NO_COLOR, FORCE_COLOR, TERM). */
  styled(tone: Tone, text: string): string {
    return styleText(STYLES[tone], text, { stream: this.#terminal });
  }

  #text(text: string): void {
    if (text === "") return;
    this.#output.write(text);
    this.#isAtStart = text.endsWith("\n");
  }
}
