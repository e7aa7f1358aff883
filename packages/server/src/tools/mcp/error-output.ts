import type { Readable } from "node:stream";

const MAX_LINE = 1_000;
const MAX_LINES = 1_000;

/** The error output of a process, line by line. Long lines are cut, and after many the rest is read and forgotten. */
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
    this.#rest = (lines.pop() ?? "").slice(0, MAX_LINE);
    for (const line of lines) this.#tell(line.slice(0, MAX_LINE).trimEnd());
  }

  #tell(line: string): void {
    if (line === "" || this.#lines > MAX_LINES) return;
    this.#lines += 1;
    this.#onLine(this.#lines > MAX_LINES ? "[no more of this process is logged]" : line);
  }
}
