// An MCP server as a process of ours, spoken to through its standard input and output. The SDK has such a transport; this one also ends
// what the server has started, keeps its error output, and waits on the service's clock.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/client";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../core/ports/clock.ts";
import { MAX_MESSAGES } from "./bounded-transport.ts";
import { cutAnswer, idOfAnswer, MAX_MESSAGE_BYTES } from "./cut-answer.ts";
import { ErrorOutput } from "./error-output.ts";
import { FlowLimit } from "./flow-limit.ts";
import { LongLines, type OutputLine } from "./long-lines.ts";
import { killGroupAtExit, signalGroup } from "./process-group.ts";

/** What a server may print within ten seconds. It is counted before it is read: lines that are no messages take time too. */
const MAX_LINES = MAX_MESSAGES;
const MAX_BYTES = 16 * MAX_MESSAGE_BYTES;
const LINE_END = 0x0a;

/** How long a server that is asked to end may take before it is made to, each time. */
const PATIENCE_MS = 1_000;

export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to what a program needs to run at all (`PATH`, `HOME`, …); nothing else of this service's environment is passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Hears lines of the server's error output. */
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
  #forgetAtExit: () => void = () => undefined;
  readonly #lines: FlowLimit;
  readonly #bytes: FlowLimit;
  /** What it prints from now on is not read. */
  #isCutOff = false;
  #isClosing = false;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#lines = new FlowLimit(options.clock, MAX_LINES);
    this.#bytes = new FlowLimit(options.clock, MAX_BYTES);
  }

  /** Rejects when the program cannot be started. */
  async start(): Promise<void> {
    const { command, args, env, onErrorLine } = this.#options;
    // In a group of its own, so that it can be ended with all that it has started.
    const child = spawn(command, [...args], {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: "pipe",
      detached: true,
      windowsHide: true,
    });
    const spawned = once(child, "spawn");
    this.#child = child;
    if (child.pid !== undefined) this.#forgetAtExit = killGroupAtExit(child.pid);
    this.#exited = new Promise((resolve) => child.once("exit", resolve));
    child.once("exit", (code, signal) => {
      const how = signal === null ? `has ended with the code ${code}` : `was ended by ${signal}`;
      // Not when this service has ended it.
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

  /** Asks the server to end, then makes it, with all that it has started. Resolves when it has ended. */
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
    const patience = this.#options.clock.sleep(PATIENCE_MS, stop.signal).then(
      () => false,
      () => false,
    );
    const exited = await Promise.race([this.#exited.then(() => true), patience]);
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

  /** The process has ended; what it leaves behind is ended too. */
  #end(child: ChildProcessWithoutNullStreams): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    this.#forgetAtExit();
    // A process that has left the group may hold the other ends.
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
