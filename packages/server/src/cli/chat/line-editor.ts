// A line editor with history on a shared screen: the line can be hidden for other output and shown again
// unchanged. node:readline parses the keys and edits the line. While no line is edited, keys are buffered;
// only Ctrl-C and Ctrl-Z act at once.

import {
  clearScreenDown,
  createInterface,
  cursorTo,
  type Interface,
  type Key,
  moveCursor,
} from "node:readline";
import { PassThrough } from "node:stream";

/** Represents a line end within an edited line. */
const LINE_END_SIGN = "\u2424";

export type Entry =
  | { readonly kind: "line"; readonly text: string }
  /** Ctrl-C. */
  | { readonly kind: "interrupt" }
  /** Ctrl-D in an empty line. */
  | { readonly kind: "end" }
  /** The signal withdrew the question. */
  | { readonly kind: "withdrawn" };

export interface Question {
  readonly prompt: string;
  /** True if the input goes into the history and may have been typed before the question appeared. */
  readonly isMessage: boolean;
  readonly signal: AbortSignal;
}

export interface LineEditorOptions {
  /** Ctrl-C while no line is edited. */
  readonly onInterrupt: () => void;
  readonly onSuspend: () => void;
}

/** A key, or text to insert literally. */
type Typed = { readonly character: string | undefined; readonly key: Key } | { readonly text: string };

interface Asked extends Question {
  readonly answer: (entry: Entry) => void;
}

export class LineEditor {
  readonly #output: NodeJS.WriteStream;
  readonly #options: LineEditorOptions;
  #history: string[] = [];
  #asked: Asked | null = null;
  #shown: Interface | null = null;
  /** Content of hidden lines, by `isMessage`. */
  readonly #kept = new Map<boolean, string>();
  /** Buffered input for the next line. */
  readonly #waiting: Typed[] = [];
  /** Text of an unfinished paste; `null` outside a paste. */
  #pasted: string | null = null;

  constructor(output: NodeJS.WriteStream, options: LineEditorOptions) {
    this.#output = output;
    this.#options = options;
  }

  /** Handles a `keypress` event of the input. A paste is one piece of text, even if it has several lines. */
  readonly take = (character: string | undefined, key: Key): void => {
    const { name, sequence = "", ctrl = false, meta = false } = key;
    if (this.#pasted !== null) {
      if (name !== "paste-end") {
        this.#pasted += sequence;
        return;
      }
      this.#waiting.push({ text: inLine(this.#pasted) });
      this.#pasted = null;
    } else if (name === "paste-start") this.#pasted = "";
    else if (ctrl && name === "z") this.#options.onSuspend();
    else if (ctrl && name === "c" && this.#shown === null) {
      this.#waiting.length = 0;
      this.#options.onInterrupt();
    } else if (meta && (name === "return" || name === "enter")) this.#waiting.push({ text: LINE_END_SIGN });
    else this.#waiting.push({ character, key });
    this.#deliver();
  };

  /** Asks one question at a time. */
  async ask(question: Question): Promise<Entry> {
    if (question.signal.aborted) return { kind: "withdrawn" };
    const { promise, resolve } = Promise.withResolvers<Entry>();
    const onAbort = (): void => {
      this.hide();
      resolve({ kind: "withdrawn" });
    };
    question.signal.addEventListener("abort", onAbort, { once: true });
    this.#asked = { ...question, answer: resolve };
    if (!question.isMessage) {
      // Input from before the question appeared must not answer it.
      this.#waiting.length = 0;
      this.#kept.delete(false);
    }
    this.show();
    try {
      return await promise;
    } finally {
      question.signal.removeEventListener("abort", onAbort);
      this.#close();
      this.#asked = null;
    }
  }

  /** Removes the line from the screen, so that other output can be written. */
  hide(): void {
    const asked = this.#asked;
    if (this.#shown === null || asked === null) return;
    const edited = this.#shown;
    this.#kept.set(asked.isMessage, edited.line);
    moveCursor(this.#output, 0, -edited.getCursorPos().rows);
    cursorTo(this.#output, 0);
    clearScreenDown(this.#output);
    this.#close();
  }

  /** Shows the current question, if any, below the output. */
  show(): void {
    const asked = this.#asked;
    if (this.#shown !== null || asked === null || asked.signal.aborted) return;
    const edited = createInterface({
      // `take` receives the keys.
      input: new PassThrough(),
      output: this.#output,
      terminal: true,
      history: asked.isMessage ? [...this.#history] : [],
      historySize: asked.isMessage ? 500 : 0,
      removeHistoryDuplicates: true,
      prompt: asked.prompt,
      tabSize: 4,
    });
    edited.on("line", (line) => this.#entered(asked, line));
    edited.on("SIGINT", () => this.#interrupted(asked, edited));
    edited.on("close", () => this.#leave({ kind: "end" }));
    this.#shown = edited;
    edited.prompt();
    const kept = this.#kept.get(asked.isMessage) ?? "";
    if (kept !== "") edited.write(inLine(kept));
    this.#deliver();
  }

  /** Delivers key by key, because each may end the line. */
  #deliver(): void {
    while (this.#shown !== null) {
      const typed = this.#waiting.shift();
      if (typed === undefined) return;
      if ("text" in typed) this.#shown.write(typed.text);
      else this.#shown.write(typed.character, typed.key);
    }
  }

  #entered(asked: Asked, line: string): void {
    const text = line.replaceAll(LINE_END_SIGN, "\n");
    if (asked.isMessage && line.trim() !== "") {
      this.#history = [line, ...this.#history.filter((other) => other !== line)].slice(0, 500);
    }
    this.#leave({ kind: "line", text });
  }

  /** Ctrl-C clears a partly typed message; otherwise the caller handles the interrupt. */
  #interrupted({ isMessage }: Asked, edited: Interface): void {
    if (isMessage && edited.line !== "") edited.write(null, { ctrl: true, name: "e" });
    if (isMessage && edited.line !== "") edited.write(null, { ctrl: true, name: "u" });
    else this.#leave({ kind: "interrupt" });
  }

  /** Ends editing. The line stays on the screen and the cursor moves below it. */
  #leave(entry: Entry): void {
    const asked = this.#asked;
    const shown = this.#shown;
    if (shown === null || asked === null) return;
    this.#kept.delete(asked.isMessage);
    this.#close();
    if (entry.kind !== "line") this.#output.write("\r\n");
    asked.answer(entry);
  }

  #close(): void {
    const shown = this.#shown;
    // Clear this first, because `close` triggers our own listener.
    this.#shown = null;
    shown?.close();
  }
}

/** Returns the text for an edited line: with signs for line ends and without control characters. */
function inLine(text: string): string {
  return text
    .replaceAll(/\r\n|\r|\n/g, LINE_END_SIGN)
    .replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}
