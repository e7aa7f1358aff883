// Reads keys from a terminal in raw mode. While no line is edited, keys are buffered for the next line; only Ctrl-C and
// Ctrl-Z act at once. Pasted text is one piece, even if it has several lines.

import { StringDecoder } from "node:string_decoder";

/** Represents a line end within an edited line. */
const LINE_END_SIGN = "\u2424";
const PASTE_START = "\u001B[200~";
const PASTE_END = "\u001B[201~";
const CONTROL_C = "\u0003";
const CONTROL_Z = "\u001A";
/** The start of a paste, or Alt-Enter, which adds a line to the message. */
const MARK = /\u001B(?:\[200~|[\r\n])/;

export interface LineKeys {
  /** Receives keys as the terminal sends them, at most one line at a time. */
  onKeys(text: string): void;
  /** Receives text to insert literally. */
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
  /** Unprocessed input: a possible partial mark, or an incomplete paste. */
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

  /** Starts editing a line, which receives buffered keys first. Returns a function that ends editing. */
  edit(keys: LineKeys): () => void {
    this.#editing = keys;
    // Deliver only after the caller has received the return value.
    queueMicrotask(() => this.#deliver());
    return () => {
      if (this.#editing === keys) this.#editing = null;
    };
  }

  /** Drops buffered keys, which must not answer a question that was not visible yet. */
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

  /** Delivers line by line, because each line may end editing. */
  #deliver(): void {
    while (this.#editing !== null) {
      const typed = this.#waiting.shift();
      if (typed === undefined) return;
      if ("text" in typed) this.#editing.onText(typed.text);
      else this.#editing.onKeys(typed.keys);
    }
  }

  /** Returns the next complete piece: a paste, Alt-Enter, or the keys before one of these; `null` if input is incomplete. */
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

/** Returns the text of an edited line with real line ends. */
export function typedText(line: string): string {
  return line.replaceAll(LINE_END_SIGN, "\n");
}

/** Converts text for an edited line: encodes line ends and removes control characters. */
export function inLine(text: string): string {
  return text
    .replaceAll(/\r\n|\r|\n/g, LINE_END_SIGN)
    .replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}

/** Returns the length of a possible partial mark at the end. A lone escape waits for the next key. */
function halfMark(text: string): number {
  for (let length = PASTE_START.length - 1; length > 0; length -= 1) {
    if (text.endsWith(PASTE_START.slice(0, length))) return length;
  }
  return 0;
}
