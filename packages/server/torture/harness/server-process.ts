// A real server process with a fixed directory and port that can be killed and restarted.

import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createHttpClient } from "./http-request.ts";

export interface ServerPlace {
  /** The server's main.ts. */
  readonly main: string;
  /** Working directory; data is in `data` below it. */
  readonly directory: string;
  readonly port: number;
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A program with arguments that starts Node, such as strace; the server is then its child. */
  readonly wrapper?: readonly string[];
}

const LOG_LINES_KEPT = 200;
const PORTS = { first: 10_000, end: 32_000 };
const PORTS_TRIED = 100;

/** One server process from start to end. Create another for the next start. */
export class ServerProcess {
  readonly #place: ServerPlace;
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  readonly #ended: Promise<void>;
  #killed = false;
  #exit: string | null = null;

  constructor(place: ServerPlace) {
    this.#place = place;
    const [program, ...before] = [...(place.wrapper ?? []), process.execPath];
    this.#child = spawn(program, [...before, place.main], {
      cwd: place.directory,
      stdio: ["ignore", "pipe", "pipe"],
      env: serverEnvironment(place),
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => this.#keepLog(text));
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    this.#child.once("exit", (code, signal) => {
      this.#exit = signal ?? `exit code ${code ?? "unknown"}`;
      resolve();
    });
  }

  /** How it ended unexpectedly; `null` while it runs or if it was stopped on purpose. */
  get crash(): string | null {
    return this.#killed ? null : this.#exit;
  }

  /** The last lines of its log. */
  get log(): readonly string[] {
    return this.#log;
  }

  /** The process id of Node itself. Throws if it is not running. */
  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("The server could not be started");
    if (this.#place.wrapper === undefined) return pid;
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0];
    if (child === undefined || child === "") throw new Error("The wrapper has not started the server");
    return Number(child);
  }

  /** Resolves when the server is ready; rejects if it ends first or takes longer than `timeoutMs`. */
  async ready(timeoutMs = 30_000): Promise<void> {
    const client = createHttpClient(this.#place.port);
    const until = performance.now() + timeoutMs;
    try {
      while (this.#exit === null && performance.now() < until) {
        const answer = await client.request("/readyz", { timeoutMs: 1000 }).catch(() => null);
        if (answer?.status === 200) return;
        await sleep(10);
      }
    } finally {
      client.close();
    }
    throw new Error(`The server is not ready (${this.#exit ?? "it runs"}).\n${this.#log.join("\n")}`);
  }

  /** Sends a signal; resolves when the process has ended. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (this.#exit === null) {
      this.#killed = true;
      process.kill(this.pid, signal);
    }
    await this.#ended;
  }

  /** Resident memory in bytes; `null` if the system does not report it. */
  residentBytes(): number | null {
    try {
      const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))?.[1];
      return kilobytes === undefined ? null : Number(kilobytes) * 1024;
    } catch {
      return null;
    }
  }

  #keepLog(text: string): void {
    this.#log.push(...text.split("\n").filter((line) => line !== ""));
    this.#log.splice(0, Math.max(0, this.#log.length - LOG_LINES_KEPT));
  }
}

/**
 * Returns a free port of the loopback address. It is below the ephemeral range, so that it stays free until
 * the server starts, and between restarts.
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_TRIED; tries += 1) {
    const port = randomInt(PORTS.first, PORTS.end);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("No free port");
}

/** Nothing of the caller's environment reaches the server, so that no provider key changes its models. */
function serverEnvironment(place: ServerPlace): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: place.directory,
    HOST: "127.0.0.1",
    PORT: String(place.port),
    COLLOQUY_DATA_DIR: `${place.directory}/data`,
    COLLOQUY_LOG_LEVEL: "warn",
    ...place.environment,
  };
}
