// An MCP server as a process of ours, spoken to through its standard input and output. The SDK has such a transport; this one also ends
// what the server has started, keeps its error output, and waits on the service's clock.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/client";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../core/ports/clock.ts";
import { MAX_MESSAGE_BYTES } from "./bounded-fetch.ts";
import { ErrorOutput } from "./error-output.ts";
import { signalGroup } from "./process-group.ts";

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
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  #child: ChildProcessWithoutNullStreams | null = null;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(options: StdioOptions) {
    this.#options = options;
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
    this.#exited = new Promise((resolve) => child.once("exit", resolve));
    child.once("exit", () => this.#end(child));
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
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }

  /** The process has ended; what it leaves behind is ended too. */
  #end(child: ChildProcessWithoutNullStreams): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    // A process that has left the group may hold the other ends.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#buffer.clear();
    this.onclose?.();
  }
}
