// Splits a process's output into lines. Keeps whole lines up to a limit, and the head and tail of longer
// ones.

import { HEAD_BYTES, MAX_MESSAGE_BYTES, TAIL_BYTES } from "./cut-answer.ts";

const LINE_END = 0x0a;

export interface OutputLine {
  /** The line including its end, or only its head. */
  readonly head: Buffer;
  /** The last bytes of a line that is not kept whole; `null` for a whole line. */
  readonly tail: Buffer | null;
}

export class LongLines {
  #parts: Buffer[] = [];
  #bytes = 0;
  #tail: Buffer | null = null;

  /** Returns the lines that end in the chunk. */
  take(chunk: Buffer): readonly OutputLine[] {
    const lines: OutputLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, from)) {
      this.#add(chunk.subarray(from, at + 1));
      lines.push({ head: Buffer.concat(this.#parts), tail: this.#tail });
      this.clear();
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
    return lines;
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
    this.#tail = null;
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes <= MAX_MESSAGE_BYTES) {
      this.#parts.push(part);
      return;
    }
    if (this.#tail === null) {
      const begun = Buffer.concat([...this.#parts, part]);
      this.#parts = [Buffer.from(begun.subarray(0, HEAD_BYTES))];
      this.#tail = Buffer.from(begun.subarray(-TAIL_BYTES));
    } else {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, part]).subarray(-TAIL_BYTES));
    }
  }
}
