// The processes of a service under test: one, or several nodes on one database behind a proxy that gives each connection to the next one.

import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { Client } from "pg";
import { expect } from "vitest";
import { RoundRobin } from "../round-robin.ts";
import { OneProcess } from "./one-process.ts";

/** How many nodes a service is, and the server that their databases are on; `null` for one process with SQLite. */
export const NODES = nodesOf(process.env["COLLOQUY_TEST_NODES"], process.env["COLLOQUY_TEST_POSTGRES"]);

/** What carries the news between the nodes of every second file, where it is installed; the database carries that of the others. */
const NATS = process.env["COLLOQUY_TEST_NATS"] ?? null;

export interface Processes {
  /** Where the service is reached, from the first start on. */
  readonly url: string;
  /** Of each that runs. */
  readonly pids: readonly number[];
  /** What says where the data is, beside the directory. */
  readonly environment: Readonly<Record<string, string>>;
  start(environment: Readonly<Record<string, string>>, directory: string): Promise<void>;
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Stops, and removes what is not in the directory. */
  remove(): Promise<void>;
}

export function createProcesses(): Processes {
  return NODES === null ? new OneProcess() : new SeveralNodes(NODES.count, NODES.postgres);
}

class SeveralNodes implements Processes {
  readonly #postgres: string;
  readonly #nats: string | null = isFileOnNats() ? NATS : null;
  readonly #nodes: readonly OneProcess[];
  readonly #database = `black_box_${randomBytes(6).toString("hex")}`;
  #proxy: RoundRobin | null = null;

  constructor(count: number, postgres: string) {
    this.#postgres = postgres;
    this.#nodes = Array.from({ length: count }, () => new OneProcess());
  }

  get url(): string {
    return `http://127.0.0.1:${this.#proxy?.port ?? 0}`;
  }

  get pids(): readonly number[] {
    return this.#nodes.flatMap((node) => node.pids);
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      COLLOQUY_DATABASE_URL: `${this.#postgres}/${this.#database}`,
      COLLOQUY_SECRET_KEY: SECRET_KEY,
      ...(this.#nats !== null && { COLLOQUY_NATS_URL: this.#nats }),
    };
  }

  async start(environment: Readonly<Record<string, string>>, directory: string): Promise<void> {
    if (this.#proxy === null) await this.#query("postgres", `CREATE DATABASE ${this.#database}`);
    const shared = { ...environment, ...this.environment };
    // At once: migrations have to bear that.
    await Promise.all(this.#nodes.map((node) => node.start(shared, directory)));
    const ports = this.#nodes.map(({ url }) => Number(new URL(url).port));
    this.#proxy ??= await RoundRobin.start();
    this.#proxy.targets = ports;
  }

  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop(signal)));
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    await this.#proxy?.stop();
    await this.#query("postgres", `DROP DATABASE IF EXISTS ${this.#database} WITH (FORCE)`);
    // With all requests to one node the tests would pass as well, and would have tried nothing that several nodes have to do.
    this.#proxy?.checkSpread();
  }

  async #query(database: string, text: string): Promise<void> {
    const client = new Client({ connectionString: `${this.#postgres}/${database}` });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }
}

/** Nodes have to be given the same one. */
const SECRET_KEY = randomBytes(32).toString("base64");

/** Each file has the same bus in every run. */
function isFileOnNats(): boolean {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  return files.toSorted().indexOf(basename(expect.getState().testPath ?? "")) % 2 === 1;
}

function nodesOf(count: string | undefined, postgres: string | undefined) {
  return count === undefined || postgres === undefined ? null : { count: Number(count), postgres };
}
