// The service that the black-box suite talks to: the one at COLLOQUY_TEST_URL, else the program itself, started for each test file
// with a data directory of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll } from "vitest";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

/** Where a service stands that somebody else has started; `null` when the suite starts its own. */
const GIVEN_URL = process.env["COLLOQUY_TEST_URL"] ?? null;

export class Program {
  readonly directory: string;
  /** A configuration file that stands elsewhere. */
  readonly #configPath: string | null;
  #process: ChildProcess | null = null;
  #url = "";

  private constructor(directory: string, configPath: string | null) {
    this.directory = directory;
    this.#configPath = configPath;
  }

  /** Starts the program; `config` becomes its configuration file, or is the path of one. */
  static async start(config: object | string | null = null): Promise<Program> {
    const directory = await mkdtemp(join(tmpdir(), "colloquy-black-box-"));
    const program = new Program(directory, typeof config === "string" ? config : null);
    if (typeof config === "object" && config !== null) {
      await writeFile(join(program.directory, "colloquy.config.json"), JSON.stringify(config));
    }
    await program.run();
    return program;
  }

  get url(): string {
    return this.#url;
  }

  /** Runs the program on its directory, again after it was stopped. */
  async run(): Promise<void> {
    const child = spawn(process.execPath, [MAIN], {
      cwd: this.directory,
      env: {
        PATH: process.env["PATH"],
        HOST: "127.0.0.1",
        PORT: "0",
        COLLOQUY_DATA_DIR: join(this.directory, "data"),
        COLLOQUY_LOG_LEVEL: "warn",
        ...(this.#configPath !== null && { COLLOQUY_CONFIG: this.#configPath }),
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { msg, address } = JSON.parse(line) as { msg?: string; address?: string };
      if (msg !== "listening" || address === undefined) continue;
      this.#url = address;
      child.stdout.resume();
      return;
    }
    throw new Error(`The program ended before it listened, with ${child.exitCode ?? child.signalCode}.`);
  }

  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Has a service for the tests of a file. Answers its base URL, from the first test on. */
export function useService(config: object | null = null): () => string {
  let program: Program | null = null;
  beforeAll(async () => {
    if (GIVEN_URL === null || config !== null) program = await Program.start(config);
  });
  afterAll(() => program?.remove());
  return () => program?.url ?? GIVEN_URL ?? "";
}
