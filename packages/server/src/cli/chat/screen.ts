// Writes a conversation to a terminal, with colors. Keeps track of whether the cursor is at the start of a line.

import { styleText } from "node:util";
import type { Piece, Tone } from "./transcript.ts";

type Output = { write(text: string): unknown };

const STYLES = { user: "bold", tool: "cyan", quiet: "dim", warning: "yellow", error: "red" } as const;

export class Screen {
  readonly #terminal: NodeJS.WriteStream;
  readonly #output: Output;
  #isAtStart = true;

  /** Writes to `output`. Uses colors if `terminal` supports them. */
  constructor(terminal: NodeJS.WriteStream, output: Output = terminal) {
    this.#terminal = terminal;
    this.#output = output;
  }

  /** True if the cursor is at the start of a line. */
  get isAtStart(): boolean {
    return this.#isAtStart;
  }

  /** Writes pieces: text continues the current line, and lines are separate. */
  write(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      if (piece.kind === "line") this.line(piece.tone, piece.text);
      else if (piece.text !== "") {
        this.#output.write(piece.text);
        this.#isAtStart = piece.text.endsWith("\n");
      }
    }
  }

  /** Writes text on a separate line. */
  line(tone: Tone | null, text: string): void {
    this.endLine();
    this.#output.write(`${tone === null ? text : this.styled(tone, text)}\n`);
  }

  /** Moves the cursor to the start of a new line, unless it is at the start of one. */
  endLine(): void {
    if (!this.#isAtStart) this.#output.write("\n");
    this.#isAtStart = true;
  }

  /** Applies the style of a tone if the terminal supports colors (NO_COLOR, FORCE_COLOR, TERM). */
  styled(tone: Tone, text: string): string {
    return styleText(STYLES[tone], text, { stream: this.#terminal });
  }
}
