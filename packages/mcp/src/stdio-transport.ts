// An MCP server as a child process, over its standard input and output. Unlike the SDK's transport, this one
// also ends the server's children, limits and logs its stderr, and uses the service's clock.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import ownProcess from "node:process";
import {
  deserializeMessage,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { type Clock, isJsonObject, type JsonValue, within } from "@colloquy/engine/tool-source";
import { MAX_MESSAGES, FlowLimit } from "./bounded-transport.ts";
import { cutAnswer, idOfAnswer, MAX_MESSAGE_BYTES, HEAD_BYTES, TAIL_BYTES } from "./cut-answer.ts";
import { normalizeMessage } from "./normalize-message.ts";

/** Limits of output within ten seconds, counted before parsing, because invalid lines take time too. */
const MAX_LINES = MAX_MESSAGES;
const MAX_BYTES = 16 * MAX_MESSAGE_BYTES;
const LINE_END = 0x0a;

/** Time limit for a server to exit, after its input is closed and again after each signal. */
const EXIT_TIMEOUT_MS = 1_000;

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * Variables in addition to those that a program needs (`PATH`, `HOME`, …). No other variables of this
   * service are passed on.
   */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Called with lines of the server's stderr. */
  readonly onErrorLine: (line: string) => void;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #options: StdioOptions;
  readonly #output = new LongLines();
  #child: ChildProcessWithoutNullStreams | null = null;
  #exited: Promise<unknown> = Promise.resolve();
  #cancelKillAtExit: () => void = () => undefined;
  readonly #lines: FlowLimit;
  readonly #bytes: FlowLimit;
  /** True if all further output is discarded. */
  #isCutOff = false;
  #isClosing = false;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#lines = new FlowLimit(options.clock, MAX_LINES);
    this.#bytes = new FlowLimit(options.clock, MAX_BYTES);
  }

  /** Rejects if the program cannot be started. */
  async start(): Promise<void> {
    const { command, args, env, onErrorLine } = this.#options;
    // In its own process group, so that its children can be signalled too.
    const child = spawn(command, [...args], {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: "pipe",
      detached: true,
      windowsHide: true,
    });
    const spawned = once(child, "spawn");
    this.#child = child;
    if (child.pid !== undefined) this.#cancelKillAtExit = killGroupAtExit(child.pid);
    this.#exited = new Promise((resolve) => child.once("exit", resolve));
    child.once("exit", (code, signal) => {
      const how = signal === null ? `has ended with the code ${code}` : `was ended by ${signal}`;
      // Not an error if this service is closing the process.
      if (this.#child === child && !this.#isClosing)
        this.onerror?.(new Error(`The server's process ${how}.`));
      this.#end(child);
    });
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    passLines(child.stderr, onErrorLine);
    try {
      await spawned;
    } catch (error) {
      // Without a process there is no exit, for which `close` would wait.
      this.#end(child);
      throw error;
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || !child.stdin.writable) throw new Error("The server's process has ended.");
    if (!child.stdin.write(serializeMessage(message))) {
      await Promise.race([once(child.stdin, "drain"), this.#exited]);
    }
  }

  /** Closes the server's input, then signals its process group. Resolves when the server has exited. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#isClosing = true;
    const { pid } = child;
    child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#hasExited()) break;
      if (pid !== undefined) signalGroup(pid, signal);
    }
    await this.#hasExited();
    this.#end(child);
  }

  #hasExited(): Promise<boolean> {
    const exited = this.#exited.then(() => true);
    return within(exited, false, { clock: this.#options.clock, ms: EXIT_TIMEOUT_MS });
  }

  #read(chunk: Buffer): void {
    if (this.#isCutOff) return;
    if (!this.#bytes.take(chunk.length) || !this.#lines.take(linesIn(chunk))) {
      this.#cutOff(new Error("The server prints too much in ten seconds."));
      return;
    }
    for (const line of this.#output.take(chunk)) this.#receive(line);
  }

  #receive({ head, tail }: OutputLine): void {
    const text = head.toString();
    try {
      if (tail === null) {
        const message = normalizeMessage(parseLine(text));
        this.onmessage?.(deserializeMessage(JSON.stringify(message)));
        return;
      }
      const id = idOfAnswer(text, tail.toString());
      if (id !== null) this.onmessage?.(cutAnswer(id, text));
      else this.onerror?.(new Error(`The server printed a line of more than ${MAX_MESSAGE_BYTES} bytes.`));
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  #cutOff(error: Error): void {
    this.#isCutOff = true;
    this.onerror?.(error);
    void this.close();
  }

  /** Cleans up after the process has exited, and kills its remaining children. */
  #end(child: ChildProcessWithoutNullStreams): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    this.#cancelKillAtExit();
    // A child that has left the group may keep the other ends of the pipes open.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#output.clear();
    this.onclose?.();
  }
}

/**
 * Parses a line. Skips output without a line break before a response: a byte order mark, control sequences or
 * log text. Does not search for requests, because a log may quote requests that the server received.
 */
function parseLine(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    const start = text.indexOf('{"');
    const message = start > 0 ? (JSON.parse(text.slice(start)) as JsonValue) : null;
    if (isJsonObject(message) && "id" in message && !("method" in message)) return message;
    throw error;
  }
}

function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
  return lines;
}

/** Maximum length of a logged line in characters. */
const MAX_ERROR_LINE = 16 * 1_024;
const MAX_ERROR_LINES = 1_000;

/**
 * Forwards the stderr of a process line by line. A line is forwarded whole or not at all, because the
 * scrubber could not detect part of a key. Discards output after `MAX_ERROR_LINES`.
 */
function passLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = "";
  let count = 0;
  stream.setEncoding("utf8");
  stream.on("error", () => undefined);
  stream.on("data", (text: string) => {
    if (count > MAX_ERROR_LINES) return;
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(0, MAX_ERROR_LINE + 1);
    for (const line of lines.map((line) => line.trimEnd()).filter((line) => line !== "")) {
      count += 1;
      if (count > MAX_ERROR_LINES) return onLine("[no more of this process is logged]");
      onLine(line.length > MAX_ERROR_LINE ? `[a line of more than ${MAX_ERROR_LINE} characters]` : line);
    }
  });
}

interface OutputLine {
  /** The line with its end, or only its beginning. */
  readonly head: Buffer;
  /** The last bytes of a line that is not kept completely; `null` for a complete line. */
  readonly tail: Buffer | null;
}

/** Splits output into lines. Keeps complete lines up to a limit, and the beginning and end of longer ones. */
class LongLines {
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

// Apart from main.ts, only this file uses `process` (docs/adr/0009), because Node has no other way to signal
// a group.

/** Signals the group that `pid` leads; returns false if no process received the signal. */
function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return ownProcess.kill(-pid, signal);
  } catch {
    // The group is gone, or another user's process now has its id.
    return false;
  }
}

/**
 * Kills the group when this process exits for any reason: a second signal, a crash, `process.exit`. Returns a
 * function that cancels this; call it when the group is gone, because its id may be reused.
 */
function killGroupAtExit(pid: number): () => void {
  const onExit = (): void => void signalGroup(pid, "SIGKILL");
  // One listener per server is intended, not a leak.
  ownProcess.setMaxListeners(ownProcess.getMaxListeners() + 1);
  ownProcess.once("exit", onExit);
  let isCancelled = false;
  return () => {
    if (isCancelled) return;
    isCancelled = true;
    ownProcess.off("exit", onExit);
    ownProcess.setMaxListeners(ownProcess.getMaxListeners() - 1);
  };
}
