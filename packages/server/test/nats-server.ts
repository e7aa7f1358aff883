// A NATS server for the tests of one file, on a free loopback port.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findFreePort } from "../torture/harness/server-process.ts";
import { findProgram, isWithout } from "./programs.ts";

/** Returns true if NATS is not installed: the tests that need it are skipped. */
export function isWithoutNats(): Promise<boolean> {
  return isWithout("nats-server");
}

export class NatsServer {
  readonly #folder: string;
  #port = -1;
  #monitor = -1;
  #process: ChildProcess | null = null;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Starts a server. `settings` are lines of its configuration file. */
  static async start(settings = ""): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-nats-"));
    await writeFile(join(folder, "nats.conf"), settings);
    const server = new NatsServer(folder);
    // Outside the ephemeral range, so that nobody takes the port while the server is stopped.
    server.#port = await findFreePort();
    await server.resume();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** Returns the number of connected clients. */
  async connections(): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.#monitor}/varz`);
    const { connections } = (await answer.json()) as { readonly connections: number };
    return connections;
  }

  /** Restarts the server after `halt`, on the same port. */
  async resume(): Promise<void> {
    // -1 picks a free port for the monitor, which the log names.
    const address = ["--addr", "127.0.0.1", "--port", String(this.#port), "--http_port", "-1"];
    const config = ["--config", join(this.#folder, "nats.conf")];
    const program = await findProgram("nats-server");
    if (program === null) throw new Error("There is no NATS server here: apt-get install nats-server");
    const child = spawn(program, [...address, ...config], { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    const said: string[] = [];
    let isReady = false;
    for await (const line of createInterface(child.stderr)) {
      said.push(line);
      this.#monitor = Number(/http monitor on .*:(\d+)$/.exec(line)?.[1] ?? this.#monitor);
      isReady = line.includes("Server is ready");
      if (isReady) break;
    }
    if (!isReady) throw new Error(`NATS did not start:\n${said.join("\n")}`);
    // Drain the output so that the server never blocks on it.
    child.stderr.resume();
  }

  /** Kills the server. */
  async halt(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    await this.halt();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
