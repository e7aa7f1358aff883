// The service that the black-box suite talks to: the one at COLLOQUY_TEST_URL, else one that all files of the run share; on several nodes
// (`npm run test:nodes`), one for each bus. A file that needs another configuration has a service of its own.

import { readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { addressOf } from "../../../../test/shared-programs.ts";
import { createProcesses, NODES } from "./processes.ts";

/** Address of a service that was started by hand; `null` if the suite starts its own. */
const GIVEN_URL = process.env["COLLOQUY_TEST_URL"] ?? null;

export class Program {
  readonly directory: string;
  /** An existing configuration file. */
  readonly #configPath: string | null;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #processes = createProcesses(isFileOnNats());

  private constructor(
    directory: string,
    configPath: string | null,
    environment: Readonly<Record<string, string>>,
  ) {
    this.directory = directory;
    this.#configPath = configPath;
    this.#environment = environment;
  }

  /** Starts the program. `config` is its configuration, or the path of one. `environment` adds variables. */
  static async start(
    config: object | string | null = null,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Program> {
    const directory = await mkdtemp(join(tmpdir(), "colloquy-black-box-"));
    const program = new Program(directory, typeof config === "string" ? config : null, environment);
    if (typeof config === "object" && config !== null) {
      await writeFile(join(program.directory, "colloquy.config.json"), JSON.stringify(config));
    }
    await program.run();
    return program;
  }

  /** Variables that a command needs to administer the same data. */
  get environment(): Readonly<Record<string, string>> {
    return { COLLOQUY_DATA_DIR: join(this.directory, "data"), ...this.#processes.environment };
  }

  get url(): string {
    return this.#processes.url;
  }

  /** The log of all nodes. */
  get log(): string {
    return this.#processes.log;
  }

  get pids(): readonly number[] {
    return this.#processes.pids;
  }

  /** Runs the program on its directory, again after it was stopped. `more` adds variables to this run. */
  async run(more: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#processes.start(
      {
        ...this.#environment,
        ...more,
        ...(this.#configPath !== null && { COLLOQUY_CONFIG: this.#configPath }),
      },
      this.directory,
    );
  }

  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#processes.stop(signal);
  }

  async remove(): Promise<void> {
    await this.#processes.remove();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/**
 * Starts a service for the tests of a file. Returns a function that gives its base URL, from the first test
 * on.
 */
export function useService(
  config: object | null = null,
  environment?: Readonly<Record<string, string>>,
): () => string {
  let program: Program | null = null;
  let shared = "";
  beforeAll(async () => {
    const isPlain = config === null && environment === undefined;
    if (isPlain) shared = GIVEN_URL ?? (await addressOf(isFileOnNats() ? "serviceOnNats" : "service"));
    else program = await Program.start(config, environment);
  });
  afterAll(() => program?.remove());
  return () => program?.url ?? shared;
}

/** Returns true for every second file on several nodes: each file uses the same bus in every run. */
function isFileOnNats(): boolean {
  if (NODES === null) return false;
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  return files.toSorted().indexOf(basename(expect.getState().testPath ?? "")) % 2 === 1;
}
