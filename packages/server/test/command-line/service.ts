// A service in the test's process, and commands run on its data without starting processes.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Client, createClient } from "@colloquy/client";
import { openLocalStore } from "../../src/wiring/local-store.ts";
import { recordedRun, type RecordedRun } from "../../src/cli/testing/recorded-run.ts";
import { loadConfig, readBackend } from "../../src/config/load-config.ts";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { buildServer, type ColloquyServer } from "../../src/wiring/server.ts";
import { findFreePort } from "../../torture/harness/server-process.ts";

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

type Environment = Readonly<Record<string, string>>;

export interface ServiceOptions {
  /** Content of the configuration file. */
  readonly config?: object;
  readonly environment?: Environment;
  /** Additional models, by rig. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  readonly logger?: Logger;
}

export class Service {
  readonly directory: string;
  /** Environment variables that lead to this service. */
  readonly environment: Environment;
  readonly #parts: Pick<ServiceOptions, "models" | "logger">;
  #server: ColloquyServer | null = null;

  private constructor(
    directory: string,
    environment: Environment,
    parts: Pick<ServiceOptions, "models" | "logger">,
  ) {
    this.directory = directory;
    this.environment = environment;
    this.#parts = parts;
  }

  /** Starts a service on its own directory and port, which it keeps over restarts. */
  static async start({ config, environment, ...parts }: ServiceOptions = {}): Promise<Service> {
    const directory = await mkdtemp(join(tmpdir(), "colloquy-command-line-"));
    if (config !== undefined) {
      await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(config));
    }
    const port = String(await findFreePort());
    const service = new Service(directory, { HOST: "127.0.0.1", PORT: port, ...environment }, parts);
    await service.run();
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.environment["PORT"]}`;
  }

  get client(): Client {
    return createClient({ baseUrl: this.url });
  }

  async run(): Promise<void> {
    const { environment, directory } = this;
    const loaded = await loadConfig({ environment, workingDirectory: directory });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const onFatal = (error: Error): never => {
      throw error;
    };
    this.#server = await buildServer(loaded.config, { logger: SILENT, onFatal, ...this.#parts });
    await this.#server.listen();
  }

  async stop(): Promise<void> {
    await this.#server?.stop({ graceMs: 0 });
    this.#server = null;
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Runs a command in this directory; `more` adds variables. */
  command(parameters: readonly string[], more: Environment = {}): Promise<RecordedRun> {
    const environment = { ...this.environment, ...more };
    const workingDirectory = this.directory;
    return recordedRun(parameters, {
      environment,
      loadConfig: () => loadConfig({ environment, workingDirectory }),
      localServices: () => import("../../src/wiring/local-service.ts"),
      openLocalStore: async (need) => {
        const { settings, secretKey, backend, files } = await readBackend(environment, workingDirectory);
        return await openLocalStore({ ...settings, secretKey, backend, files }, need);
      },
    });
  }
}
