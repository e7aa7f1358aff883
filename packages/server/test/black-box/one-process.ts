// The program in a process of its own, on SQLite.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import type { Processes } from "./processes.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

export class OneProcess implements Processes {
  url = "";
  readonly environment = {};
  log = "";
  #process: ChildProcess | null = null;

  get pids(): readonly number[] {
    const pid = this.#process?.pid;
    return pid === undefined ? [] : [pid];
  }

  async start(environment: Readonly<Record<string, string>>, directory: string): Promise<void> {
    const child = spawn(process.execPath, [MAIN], {
      cwd: directory,
      env: {
        ...BARE_ENVIRONMENT,
        HOST: "127.0.0.1",
        PORT: "0",
        COLLOQUY_DATA_DIR: join(directory, "data"),
        COLLOQUY_LOG_LEVEL: "warn",
        ...environment,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    child.stdout.setEncoding("utf8").on("data", (text: string) => (this.log += text));
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { msg, address } = JSON.parse(line) as { msg?: string; address?: string };
      if (msg !== "listening" || address === undefined) continue;
      this.url = address;
      child.stdout.resume();
      return;
    }
    throw new Error(`The program ended before it listened, with ${child.exitCode ?? child.signalCode}.`);
  }

  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
  }
}
