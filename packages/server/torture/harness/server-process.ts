// A real server in a process of its own, always on the same directory and port, that can be killed and started again.

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
  /** Where it runs and keeps its data (in `data` below it). */
  readonly directory: string;
  readonly port: number;
  /** More environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A program with arguments that starts Node, such as strace; the server is then its child. */
  readonly wrapper?: readonly string[];
}

const LOG_LINES_KEPT = 200;
const PORTS = { first: 10_000, end: 32_000 };
const PORTS_TRIED = 100;

/** One server from start to end. Make another for the next start. */
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

  /** How it ended when nobody had asked it to; `null` while it runs or when it was asked. */
  get crash(): string | null {
    return this.#killed ? null : this.#exit;
  }

  /** The last lines of what it logged. */
  get log(): readonly string[] {
    return this.#log;
  }

  /** The process id of Node itself. Throws when it does not run. */
  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("The server could not be started");
    if (this.#place.wrapper === undefined) return pid;
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0];
    if (child === undefined || child === "") throw new Error("The wrapper has not started the server");
    return Number(child);
  }

  /** Resolves when it answers that it may take traffic; rejects when it ends before or takes over `timeoutMs`. */
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

  /** Ends it; resolves when it is gone. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (this.#exit === null) {
      this.#killed = true;
      process.kill(this.pid, signal);
    }
    await this.#ended;
  }

  /** Memory that is resident now, in bytes; `null` where the system does not tell. */
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
 * A port of the loopback address that nobody has now. It is below those that systems take for outgoing connections, so that it is still
 * free when its server starts, and starts again.
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

/** Nothing of the caller's environment reaches the server, so that no provider's key changes its models. */
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
