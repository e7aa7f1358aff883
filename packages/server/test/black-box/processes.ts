// The processes of a service under test: one, or several nodes on one database behind a proxy that balances
// connections.

import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { RoundRobin } from "../round-robin.ts";
import { OneProcess } from "./one-process.ts";

/** Number of nodes per service, and the server of their databases; `null` for one process with SQLite. */
export const NODES = nodesOf(process.env["COLLOQUY_TEST_NODES"], process.env["COLLOQUY_TEST_POSTGRES"]);

/** NATS for the bus of every second file, if installed; the other files use the database. See `isFileOnNats`. */
const NATS = process.env["COLLOQUY_TEST_NATS"] ?? null;

export interface Processes {
  /** URL of the service, stable across restarts. */
  readonly url: string;
  /** What the nodes have written to standard output, node by node. */
  readonly log: string;
  /** Process ids of the running nodes. */
  readonly pids: readonly number[];
  /** Environment variables that configure the store, besides the directory. */
  readonly environment: Readonly<Record<string, string>>;
  start(environment: Readonly<Record<string, string>>, directory: string): Promise<void>;
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Stops the service and removes what is outside the directory. */
  remove(): Promise<void>;
}

export function createProcesses(isOnNats: boolean): Processes {
  return NODES === null
    ? new OneProcess()
    : new SeveralNodes(NODES.count, NODES.postgres, isOnNats ? NATS : null);
}

class SeveralNodes implements Processes {
  readonly #postgres: string;
  readonly #nats: string | null;
  readonly #nodes: readonly OneProcess[];
  readonly #database = `black_box_${randomBytes(6).toString("hex")}`;
  #proxy: RoundRobin | null = null;

  constructor(count: number, postgres: string, nats: string | null) {
    this.#postgres = postgres;
    this.#nats = nats;
    this.#nodes = Array.from({ length: count }, () => new OneProcess());
  }

  get url(): string {
    return `http://127.0.0.1:${this.#proxy?.port ?? 0}`;
  }

  get log(): string {
    return this.#nodes.map(({ log }) => log).join("");
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
    // Concurrently: migrations must tolerate that.
    const started = await Promise.allSettled(this.#nodes.map((node) => node.start(shared, directory)));
    // Only after all have started or failed, so that the caller can stop them.
    for (const one of started) if (one.status === "rejected") throw one.reason;
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
    // If all requests went to one node, the tests would pass without testing several nodes.
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

/** All nodes must have the same one. */
const SECRET_KEY = randomBytes(32).toString("base64");

function nodesOf(count: string | undefined, postgres: string | undefined) {
  return count === undefined || postgres === undefined ? null : { count: Number(count), postgres };
}
