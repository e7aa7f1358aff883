// The keyboard of a terminal in raw mode. While no line is edited, what is typed waits for the next one; only Ctrl-C is heard at once.
// What is pasted is one piece, whatever line ends it has.

import { StringDecoder } from "node:string_decoder";

/** Stands for a line end within an edited line. */
const LINE_END_SIGN = "\u2424";
const PASTE_START = "\u001B[200~";
const PASTE_END = "\u001B[201~";
const CONTROL_C = "\u0003";
const CONTROL_Z = "\u001A";
/** Where a paste begins, or Alt-Enter: another line within the same message. */
const MARK = /\u001B(?:\[200~|[\r\n])/;

export interface LineKeys {
  /** Keys as the terminal sends them, at most one line's. */
  onKeys(text: string): void;
  /** Text that is to stand in the line as it is. */
  onText(text: string): void;
}

type Typed = { readonly keys: string } | { readonly text: string };

export interface KeyReaderOptions {
  /** Ctrl-C while no line is edited. */
  readonly onInterrupt: () => void;
  readonly onSuspend: () => void;
}

export class KeyReader {
  readonly #options: KeyReaderOptions;
  readonly #decoder = new StringDecoder("utf8");
  /** What came and may be the beginning of a mark, or a paste whose end has not come. */
  #rest = "";
  readonly #waiting: Typed[] = [];
  #editing: LineKeys | null = null;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  readonly take = (bytes: Buffer): void => {
    this.#rest += this.#decoder.write(bytes);
    for (let typed = this.#next(); typed !== null; typed = this.#next()) this.#typed(typed);
    this.#deliver();
  };

  /** A line is edited from now on; what was typed before is for it. Answers what ends this. */
  edit(keys: LineKeys): () => void {
    this.#editing = keys;
    // Not before the caller has taken this in.
    queueMicrotask(() => this.#deliver());
    return () => {
      if (this.#editing === keys) this.#editing = null;
    };
  }

  /** What was typed before a question was there is no answer to it. */
  forget(): void {
    this.#waiting.length = 0;
  }

  #typed(typed: Typed): void {
    if ("text" in typed) {
      this.#waiting.push(typed);
      return;
    }
    for (const part of typed.keys.split(/([\u0003\u001A]|[^\u0003\u001A\r\n]*(?:\r\n|\r|\n))/)) {
      if (part === CONTROL_Z) this.#options.onSuspend();
      else if (part === CONTROL_C && this.#editing === null) {
        this.forget();
        this.#options.onInterrupt();
      } else if (part !== "") this.#waiting.push({ keys: part });
    }
  }

  /** Line by line, because each may be the end of editing. */
  #deliver(): void {
    while (this.#editing !== null) {
      const typed = this.#waiting.shift();
      if (typed === undefined) return;
      if ("text" in typed) this.#editing.onText(typed.text);
      else this.#editing.onKeys(typed.keys);
    }
  }

  /** What has come whole: a paste, Alt-Enter, or keys up to the next of these; `null` when more has to come. */
  #next(): Typed | null {
    const start = this.#rest.search(MARK);
    if (start === 0 && !this.#rest.startsWith(PASTE_START)) {
      this.#rest = this.#rest.slice(2);
      return { text: LINE_END_SIGN };
    }
    if (start === 0) {
      const end = this.#rest.indexOf(PASTE_END);
      if (end < 0) return null;
      const pasted = this.#rest.slice(PASTE_START.length, end);
      this.#rest = this.#rest.slice(end + PASTE_END.length);
      return { text: inLine(pasted) };
    }
    const length = start > 0 ? start : this.#rest.length - halfMark(this.#rest);
    if (length === 0) return null;
    const keys = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    return { keys };
  }
}

/** The text of an edited line, with its line ends. */
export function typedText(line: string): string {
  return line.replaceAll(LINE_END_SIGN, "\n");
}

/** A text as it stands in an edited line: without anything that would be taken for a key. */
export function inLine(text: string): string {
  return text
    .replaceAll(/\r\n|\r|\n/g, LINE_END_SIGN)
    .replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}

/** How many characters at the end may be the beginning of a mark. A lone escape means nothing until another key has come. */
function halfMark(text: string): number {
  for (let length = PASTE_START.length - 1; length > 0; length -= 1) {
    if (text.endsWith(PASTE_START.slice(0, length))) return length;
  }
  return 0;
}
