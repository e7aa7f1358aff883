// An MCP server as a child process, over its standard input and output. Unlike the SDK's transport, this one
// also ends the server's children, limits and logs its stderr, and uses the service's clock.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/client";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../core/ports/driven/clock.ts";
import { MAX_MESSAGES } from "./bounded-transport.ts";
import { cutAnswer, idOfAnswer, MAX_MESSAGE_BYTES } from "./cut-answer.ts";
import { ErrorOutput } from "./error-output.ts";
import { FlowLimit } from "./flow-limit.ts";
import { LongLines, type OutputLine } from "./long-lines.ts";
import { killGroupAtExit, signalGroup } from "./process-group.ts";

/** Limits of output within ten seconds, counted before parsing: invalid lines take time too. */
const MAX_LINES = MAX_MESSAGES;
const MAX_BYTES = 16 * MAX_MESSAGE_BYTES;
const LINE_END = 0x0a;

/** Time limit for a server to exit, after its input is closed and again after each signal. */
const EXIT_TIMEOUT_MS = 1_000;

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * Added to the variables that a program needs (`PATH`, `HOME`, …); no others of this service are passed on.
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
  /** Discards all further output. */
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
      // Not an error if this service is closing it.
      if (this.#child === child && !this.#isClosing)
        this.onerror?.(new Error(`The server's process ${how}.`));
      this.#end(child);
    });
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    new ErrorOutput(onErrorLine).follow(child.stderr);
    await spawned;
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

  async #hasExited(): Promise<boolean> {
    const stop = new AbortController();
    const timeout = this.#options.clock.sleep(EXIT_TIMEOUT_MS, stop.signal).then(
      () => false,
      () => false,
    );
    const exited = await Promise.race([this.#exited.then(() => true), timeout]);
    stop.abort();
    return exited;
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
        this.onmessage?.(deserializeMessage(text));
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
    // A process that has left the group may hold the other ends of the pipes.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#output.clear();
    this.onclose?.();
  }
}

function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, at + 1)) lines += 1;
  return lines;
}
