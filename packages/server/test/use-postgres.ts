// PostgreSQL for the tests of one block: a server of its own, and where it is asked for a new database for each of them.

import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { Store } from "../src/core/ports/driven/store.ts";
import { Connections, type ConnectionOptions } from "../src/store/postgres/connections.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../src/store/postgres/open.ts";
import { PostgresServer } from "./postgres-server.ts";

/** A server that is started before the first test of the block in which this is called, and gone after the last. */
export function usePostgres(): PostgresServer {
  const server = new PostgresServer();
  beforeAll(() => server.start());
  afterAll(() => server.stop());
  return server;
}

/** A database with the schema and nothing in it, to be copied; answers its name. */
export async function makeTemplate(server: PostgresServer): Promise<string> {
  const name = await server.createDatabase();
  await (await openPostgresStore({ url: server.url(name) })).close();
  return name;
}

/** The database of the test that runs. */
class UsedDatabase {
  readonly server: PostgresServer;
  #name = "";
  readonly #opened: (() => Promise<void>)[] = [];

  constructor(server: PostgresServer) {
    this.server = server;
  }

  /** Its name on the server. */
  get name(): string {
    return this.#name;
  }

  get url(): string {
    return this.server.url(this.#name);
  }

  /** The address by another port, behind which somebody stands before the server. */
  urlBy(port: number): string {
    return this.url.replace(`:${this.server.port}/`, `:${port}/`);
  }

  async begin(template?: string): Promise<void> {
    this.#name = await this.server.createDatabase(template);
  }

  /** Closes what was opened. Rejects when something cannot be, after all of it was tried. */
  async end(): Promise<void> {
    const closed = await Promise.allSettled(this.#opened.splice(0).map((close) => close()));
    const failed = closed.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** A store on it, which is closed behind the test. */
  async open(options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
    const store = await openPostgresStore({ url: this.url, ...options });
    this.#opened.push(() => store.close());
    return store;
  }

  /** Connections to it, which are ended behind the test. */
  connect(options: Partial<ConnectionOptions> = {}): Connections {
    const connections = new Connections({ url: this.url, ...options });
    this.#opened.push(() => connections.end());
    return connections;
  }

  query(text: string): ReturnType<PostgresServer["query"]> {
    return this.server.query(this.#name, text);
  }

  holding(text: string, work: Parameters<PostgresServer["holding"]>[2]): Promise<void> {
    return this.server.holding(this.#name, text, work);
  }

  untilWaiting(count?: number): Promise<void> {
    return this.server.untilWaiting(this.#name, count);
  }

  untilDeserted(): Promise<void> {
    return this.server.untilDeserted(this.#name);
  }
}

/** A database for each test of the block in which this is called: with nothing in it, or with the schema. */
export function useDatabase(holding: "nothing" | "the schema"): UsedDatabase {
  const database = new UsedDatabase(usePostgres());
  let template: string | undefined;
  if (holding === "the schema") beforeAll(async () => void (template = await makeTemplate(database.server)));
  beforeEach(() => database.begin(template));
  afterEach(() => database.end());
  return database;
}
