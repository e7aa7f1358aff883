// Runs the program in a pseudo terminal and reads its output from the screen of an emulator.

import { join } from "node:path";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";

export const MAIN = join(import.meta.dirname, "../../src/main.ts");
export const CTRL_C = "\u0003";
const ENTER = "\r";

export interface TerminalOptions {
  readonly directory: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** Where the program stores its state. */
  readonly state?: string;
  /** A shell line to run in place of the program; `$COLLOQUY` is the program. */
  readonly script?: string;
}

export class TerminalUser {
  readonly #process: IPty;
  readonly #screen: xterm.Terminal;
  #looking: () => void = () => undefined;
  #exitCode: number | null = null;
  /** All output, raw. */
  written = "";
  title: string | null = null;

  constructor(parameters: readonly string[], options: TerminalOptions) {
    const { directory, environment = {}, columns: cols = 80, rows = 24, script } = options;
    this.#screen = new xterm.Terminal({
      cols,
      rows,
      allowProposedApi: true,
      convertEol: false,
      scrollback: 500,
    });
    this.#screen.onTitleChange((title) => (this.title = title));
    const program = [process.execPath, MAIN, ...parameters];
    const [file = "", ...rest] = script === undefined ? program : ["/bin/sh", "-c", script];
    this.#process = spawn(file, rest, {
      name: "xterm-256color",
      cols,
      rows,
      cwd: directory,
      env: {
        ...BARE_ENVIRONMENT,
        HOME: directory,
        XDG_STATE_HOME: options.state ?? join(directory, "state"),
        COLLOQUY: `${process.execPath} ${MAIN}`,
        ...environment,
      },
    });
    this.#process.onData((text) => {
      this.written += text;
      this.#screen.write(text, () => this.#looking());
    });
    // The emulator's replies to queries of the program.
    this.#screen.onData((text) => this.#process.write(text));
    this.#process.onExit(({ exitCode, signal }) => {
      this.#exitCode = exitCode === 0 && (signal ?? 0) > 0 ? 128 + (signal ?? 0) : exitCode;
      this.#screen.write("", () => this.#looking());
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Returns the screen and scroll-back as text; wrapped lines are joined, trailing spaces removed. */
  get text(): string {
    const { active } = this.#screen.buffer;
    let text = "";
    for (let row = 0; row < active.length; row += 1) {
      const line = active.getLine(row);
      const goesOn = active.getLine(row + 1)?.isWrapped === true;
      const shown = line?.translateToString(!goesOn) ?? "";
      text += goesOn ? shown : `${shown.trimEnd()}\n`;
    }
    return text.trimEnd();
  }

  /** Resolves when the screen matches. */
  async shows(pattern: RegExp | string): Promise<void> {
    const matches = (): boolean =>
      typeof pattern === "string" ? this.text.includes(pattern) : pattern.test(this.text);
    await this.#until(matches, () => `This was not shown: ${String(pattern)}`);
  }

  /** Resolves with the exit code. */
  async exits(): Promise<number> {
    await this.#until(
      () => this.#exitCode !== null,
      () => "It did not end",
    );
    return this.#exitCode ?? -1;
  }

  type(text: string): void {
    this.#process.write(text);
  }

  enter(text: string): void {
    this.type(text + ENTER);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#process.resize(columns, rows);
  }

  kill(): void {
    if (this.#exitCode === null) this.#process.kill("SIGKILL");
  }

  async #until(condition: () => boolean, failure: () => string): Promise<void> {
    while (!condition()) {
      if (this.#exitCode !== null)
        throw new Error(`${failure()}. It ended with ${this.#exitCode}:\n${this.text}`);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#looking = resolve;
      const patience = setTimeout(() => reject(new Error(`${failure()}:\n${this.text}`)), PATIENCE_MS);
      await promise.finally(() => clearTimeout(patience));
    }
  }
}

/**
 * Milliseconds without output after which waiting fails; below the test time-out, so that the screen can be
 * reported.
 */
const PATIENCE_MS = 20_000;
