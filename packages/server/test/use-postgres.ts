// PostgreSQL for the tests of one block: separate databases on the shared server of the run, or a separate
// server.

import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { Connections, type ConnectionOptions } from "@colloquy/postgres/internal/connections";
import { openPostgresStore, type PostgresStoreOptions } from "@colloquy/postgres/internal/open";
import { addressOf } from "../../../test/shared-programs.ts";
import { PostgresDatabases, PostgresServer } from "./postgres-server.ts";

/** Limits for tests that are not about limits: longer than a test. */
export const PATIENT = { connectMs: 120_000, statementMs: 120_000 };

/** Databases on the server that test files share. They are dropped after the last test of the block in which this is called. */
export function usePostgres(): PostgresDatabases {
  const databases = new PostgresDatabases();
  beforeAll(async () => void (databases.port = Number(await addressOf("postgres"))));
  afterAll(() => databases.dropDatabases());
  return databases;
}

/**
 * Starts a server for tests that stop it, before the first test of the block in which this is called, and
 * removes it after the last.
 */
export function useOwnPostgres(): PostgresServer {
  const server = new PostgresServer();
  beforeAll(() => server.start());
  afterAll(() => server.stop());
  return server;
}

/** Creates a database with the schema, to be copied. Returns its name. */
export async function makeTemplate(server: PostgresDatabases): Promise<string> {
  const name = await server.createDatabase();
  await (await openPostgresStore({ url: server.url(name), ...PATIENT })).close();
  return name;
}

/** The current test's database. */
class UsedDatabase<Server extends PostgresDatabases> {
  readonly server: Server;
  #name = "";
  readonly #opened: (() => Promise<void>)[] = [];

  constructor(server: Server) {
    this.server = server;
  }

  /** The database's name on the server. */
  get name(): string {
    return this.#name;
  }

  get url(): string {
    return this.server.url(this.#name);
  }

  /** Returns the database's URL with another port, for a proxy in front of the server. */
  urlBy(port: number): string {
    return this.url.replace(`:${this.server.port}/`, `:${port}/`);
  }

  async begin(template?: string): Promise<void> {
    this.#name = await this.server.createDatabase(template);
  }

  /** Closes everything that was opened. Rejects if something failed to close, after trying all. */
  async end(): Promise<void> {
    const closed = await Promise.allSettled(this.#opened.splice(0).map((close) => close()));
    const failed = closed.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** Opens a store on the database, which is closed after the test. */
  async open(options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
    const store = await openPostgresStore({ url: this.url, ...PATIENT, ...options });
    this.#opened.push(() => store.close());
    return store;
  }

  /** Opens connections to the database, which are closed after the test. */
  connect(options: Partial<ConnectionOptions> = {}): Connections {
    const connections = new Connections({ url: this.url, ...PATIENT, ...options });
    this.#opened.push(() => connections.end());
    return connections;
  }

  query(text: string): ReturnType<PostgresDatabases["query"]> {
    return this.server.query(this.#name, text);
  }

  holding(text: string, work: Parameters<PostgresDatabases["holding"]>[2]): Promise<void> {
    return this.server.holding(this.#name, text, work);
  }

  untilWaiting(count?: number): Promise<void> {
    return this.server.untilWaiting(this.#name, count);
  }

  untilDeserted(): Promise<void> {
    return this.server.untilDeserted(this.#name);
  }
}

/** Creates a database for each test of the current block: empty, or with the schema. */
export function useDatabase(holding: "nothing" | "the schema"): UsedDatabase<PostgresDatabases> {
  return useDatabaseOn(usePostgres(), holding);
}

/** Like `useDatabase`, on a separate server for tests that stop it. */
export function useOwnDatabase(): UsedDatabase<PostgresServer> {
  return useDatabaseOn(useOwnPostgres(), "the schema");
}

function useDatabaseOn<Server extends PostgresDatabases>(
  server: Server,
  holding: "nothing" | "the schema",
): UsedDatabase<Server> {
  const database = new UsedDatabase(server);
  let template: string | undefined;
  if (holding === "the schema") beforeAll(async () => void (template = await makeTemplate(database.server)));
  beforeEach(() => database.begin(template));
  afterEach(() => database.end());
  return database;
}
