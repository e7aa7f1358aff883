// A line editor with history on a shared screen: the line can be hidden for other output and shown again unchanged.

import { EventEmitter } from "node:events";
import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from "node:readline";
import { inLine, type KeyReader, typedText } from "./key-reader.ts";

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

interface Asked extends Question {
  readonly answer: (entry: Entry) => void;
}

export class LineEditor {
  readonly #keys: KeyReader;
  readonly #output: NodeJS.WriteStream;
  #history: string[] = [];
  #asked: Asked | null = null;
  #shown: { readonly edited: Interface; readonly end: () => void } | null = null;
  /** Content of hidden lines, by `isMessage`. */
  readonly #kept = new Map<boolean, string>();

  constructor(keys: KeyReader, output: NodeJS.WriteStream) {
    this.#keys = keys;
    this.#output = output;
  }

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
      this.#keys.forget();
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
    const { edited } = this.#shown;
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
    const input = new EventEmitter();
    const edited = createInterface({
      input: Object.assign(input, { resume() {}, pause() {} }) as unknown as NodeJS.ReadableStream,
      output: this.#output,
      terminal: true,
      history: [...this.#history],
      historySize: asked.isMessage ? 500 : 0,
      removeHistoryDuplicates: true,
      prompt: asked.prompt,
      tabSize: 4,
    });
    edited.on("line", (line) => this.#entered(asked, line));
    edited.on("SIGINT", () => this.#interrupted(asked, edited));
    edited.on("close", () => this.#leave({ kind: "end" }));
    const end = this.#keys.edit({
      onKeys: (text) => void input.emit("data", Buffer.from(text)),
      onText: (text) => edited.write(text),
    });
    this.#shown = { edited, end };
    edited.prompt();
    const kept = this.#kept.get(asked.isMessage) ?? "";
    if (kept !== "") edited.write(inLine(kept));
  }

  #entered(asked: Asked, line: string): void {
    const text = typedText(line);
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
    shown?.end();
    shown?.edited.close();
  }
}
