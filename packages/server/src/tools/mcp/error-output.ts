import type { Readable } from "node:stream";

/** Maximum length of a logged line in characters. */
const MAX_LINE = 16 * 1_024;
const MAX_LINES = 1_000;

/**
 * Splits the stderr of a process into lines. Lines are passed on whole or not at all, because the scrubber
 * could not find a partial key. Output after `MAX_LINES` is discarded.
 */
export class ErrorOutput {
  readonly #onLine: (line: string) => void;
  #rest = "";
  #lines = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  follow(stream: Readable): void {
    stream.setEncoding("utf8");
    stream.on("error", () => undefined);
    stream.on("data", (text: string) => this.#take(text));
  }

  #take(text: string): void {
    if (this.#lines > MAX_LINES) return;
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, MAX_LINE + 1);
    for (const line of lines) this.#tell(line.trimEnd());
  }

  #tell(line: string): void {
    if (line === "" || this.#lines > MAX_LINES) return;
    this.#lines += 1;
    if (this.#lines > MAX_LINES) this.#onLine("[no more of this process is logged]");
    else this.#onLine(line.length > MAX_LINE ? `[a line of more than ${MAX_LINE} characters]` : line);
  }
}
