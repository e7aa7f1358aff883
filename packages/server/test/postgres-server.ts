// PostgreSQL servers for tests: empty, on a free loopback port.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Client } from "pg";
import type { StartedProgram } from "../../../test/shared-programs.ts";
import { findFreePort } from "../torture/harness/server-process.ts";
import { makeCluster } from "./postgres-cluster.ts";
import { findPostgres, runnableBy, type SystemUser } from "./postgres-programs.ts";

const run = promisify(execFile);

const USER = "colloquy";

/** Returns true if there is no PostgreSQL. The tests that need it are then skipped. */
export async function isWithoutPostgres(): Promise<boolean> {
  return (await findPostgres()) === null;
}

/** Returns the user for servers that refuse to run as root; `null` if this process does not run as root. */
export async function unprivileged(): Promise<SystemUser | null> {
  if (process.getuid?.() !== 0) return null;
  for (const name of ["postgres", "nobody"]) {
    const uid = await run("id", ["-u", name]).catch(() => null);
    const gid = await run("id", ["-g", name]).catch(() => null);
    if (uid !== null && gid !== null) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error("PostgreSQL refuses to run as root, and this machine has no user postgres or nobody");
}

/** Additional settings of the server, as in postgresql.conf. */
type Settings = Readonly<Record<string, string | number>>;

/** A linguistic collation, so that code that relies on byte order must say so. */
const IN_HUMAN_ORDER = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8"];

/** A created server. */
interface Cluster {
  /** Folder of the server's programs. */
  readonly programs: string;
  readonly folder: string;
  readonly user: SystemUser | null;
}

/** The databases of a running server. */
export class PostgresDatabases {
  port = 0;
  readonly #databases: string[] = [];

  url(database: string): string {
    return `postgres://${USER}@127.0.0.1:${this.port}/${database}`;
  }

  /** Creates a database as a copy of another one; returns its name. */
  async createDatabase(template = "template1"): Promise<string> {
    const name = `test_${randomBytes(6).toString("hex")}`;
    await this.query("postgres", `CREATE DATABASE ${name} TEMPLATE ${template}`);
    this.#databases.push(name);
    return name;
  }

  /** Runs a statement on a separate connection. */
  query(database: string, text: string): Promise<readonly Record<string, unknown>[]> {
    return this.#connected(database, async (client) => {
      const { rows } = await client.query<Record<string, unknown>>(text);
      return rows;
    });
  }

  /** Runs `work` while a transaction that has run the statement is open, then rolls back. */
  async holding(
    database: string,
    text: string,
    work: (run: (text: string) => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    await this.#connected(database, async (client) => {
      await client.query("BEGIN");
      await client.query(text);
      await work((further) => client.query(further));
    });
  }

  /** Resolves when `count` sessions wait for a lock in this database. */
  async untilWaiting(database: string, count = 1): Promise<void> {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    while ((await this.query(database, waiting)).length < count);
  }

  /**
   * Resolves when `count` commits in this database wait for a synchronous standby; returns their backends.
   * `beside` are backends that do not count.
   */
  async untilAwaitingStandby(
    database: string,
    count = 1,
    beside: readonly number[] = [],
  ): Promise<readonly number[]> {
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'SyncRep'
      AND pid <> ALL ('{${beside.join(",")}}'::integer[])`;
    for (;;) {
      const rows = await this.query(database, waiting);
      if (rows.length >= count) return rows.map(({ pid }) => Number(pid));
    }
  }

  /** Returns all backends of this database. */
  async backends(database: string): Promise<readonly number[]> {
    const all = `SELECT pid FROM pg_stat_activity WHERE datname = '${database}'`;
    return (await this.query(database, all)).map(({ pid }) => Number(pid));
  }

  /**
   * Resolves when no client is connected to this database. The server ends a session after its client closed
   * the connection, and only then adds its reads and writes to the statistics.
   */
  async untilDeserted(database: string): Promise<void> {
    const others =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while ((await this.query(database, others)).length > 0);
  }

  async #connected<Result>(database: string, work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({ connectionString: this.url(database) });
    // If the server stops, the pending query rejects, so ignore the event.
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** Drops the databases made by `createDatabase`. */
  async dropDatabases(): Promise<void> {
    for (const name of this.#databases.splice(0)) {
      await this.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
    }
  }
}

export class PostgresServer extends PostgresDatabases {
  #settings: Settings;
  #cluster: Cluster | null = null;
  #process: ChildProcess | null = null;

  /** The server is neither created nor started; see `start`. */
  constructor(settings: Settings = {}) {
    super();
    this.#settings = settings;
  }

  /**
   * Creates and starts a server. `from` is the folder of its programs, by default the best available;
   * `locale` are arguments of initdb.
   */
  static async start(
    settings: Settings = {},
    from: string | null = null,
    locale: readonly string[] = IN_HUMAN_ORDER,
  ): Promise<PostgresServer> {
    const server = new PostgresServer(settings);
    await server.start(from, locale);
    return server;
  }

  /** Like `PostgresServer.start`. */
  async start(from: string | null = null, locale: readonly string[] = IN_HUMAN_ORDER): Promise<void> {
    const found = from ?? (await findPostgres());
    if (found === null) {
      throw new Error("There is no PostgreSQL here: apt-get install postgresql, or npm run install:tests");
    }
    const user = await unprivileged();
    const folder = await mkdtemp(join(tmpdir(), "colloquy-postgres-"));
    if (user !== null) await chown(folder, user.uid, user.gid);
    const programs = user === null ? found : await runnableBy(user, found, folder);
    const words = [...locale, `--username=${USER}`, "--auth=trust"];
    await makeCluster(join(folder, "data"), { programs, user, words });
    this.port = await findFreePort();
    this.#cluster = { programs, folder, user };
    await this.resume();
  }

  get #made(): Cluster {
    if (this.#cluster === null) throw new Error("This PostgreSQL was not started");
    return this.#cluster;
  }

  /**
   * Starts a standby that streams from this server, with a copy of its data. This server restarts with
   * `further` settings, and its connections break. `name` is how `synchronous_standby_names` calls the
   * standby.
   */
  async startStandby(name: string, further: Settings = {}): Promise<PostgresServer> {
    const { programs, folder: origin, user } = this.#made;
    await this.halt("SIGINT");
    const folder = await mkdtemp(join(tmpdir(), "colloquy-postgres-"));
    if (user !== null) await chown(folder, user.uid, user.gid);
    const data = join(folder, "data");
    await run("cp", ["-a", join(origin, "data"), data]);
    await writeFile(join(data, "standby.signal"), "");
    const standby = new PostgresServer({
      primary_conninfo: `host=127.0.0.1 port=${this.port} user=${USER} application_name=${name}`,
      // How soon it connects again.
      wal_retrieve_retry_interval: "100ms",
    });
    standby.port = await findFreePort();
    standby.#cluster = { programs, folder, user };
    await Promise.all([this.resume(further), standby.resume()]);
    return standby;
  }

  /** Turns a standby into a primary. Its former primary must be halted. */
  async promote(): Promise<void> {
    await this.query("postgres", "SELECT pg_promote()");
  }

  /** Stops the replication to this standby, until the returned function is called. */
  async pauseReplication(): Promise<() => void> {
    for (;;) {
      const [receiver] = await this.query(
        "postgres",
        "SELECT pid FROM pg_stat_wal_receiver WHERE status = 'streaming'",
      );
      if (receiver === undefined) continue;
      process.kill(Number(receiver["pid"]), "SIGSTOP");
      return () => void process.kill(Number(receiver["pid"]), "SIGCONT");
    }
  }

  /** Restarts the server after `halt`, on the same port, with its data and further settings. */
  async resume(further: Settings = {}): Promise<void> {
    this.#settings = { ...this.#settings, ...further };
    const { programs, folder, user } = this.#made;
    const settings = {
      port: this.port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      // Tests crash the server, but not the machine.
      fsync: "off",
      full_page_writes: "off",
      autovacuum: "off",
      deadlock_timeout: "300ms",
      max_connections: 200,
      ...this.#settings,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs, "postgres"), ["-D", join(folder, "data"), ...options], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      ...user,
    });
    this.#process = child;
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    const said: string[] = [];
    for await (const line of createInterface(child.stderr)) {
      said.push(line);
      if (/ready to accept (?:read-only )?connections/.test(line)) break;
    }
    // Drain the output so that the server never blocks on it.
    child.stderr.resume();
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${said.join("\n")}`);
  }

  /** Folder of the server, in which its user may read and write. */
  get folder(): string {
    return this.#made.folder;
  }

  /** Lets the server's user own a file. */
  async give(path: string): Promise<void> {
    const { user } = this.#made;
    if (user !== null) await chown(path, user.uid, user.gid);
  }

  /** Kills the server; with SIGINT, shuts it down. */
  async halt(signal: "SIGQUIT" | "SIGINT" = "SIGQUIT"): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async stop(): Promise<void> {
    await this.halt();
    if (this.#cluster !== null) await rm(this.#cluster.folder, { recursive: true, force: true });
  }
}

/** Starts the server that test files share. */
export async function startSharedPostgres(): Promise<StartedProgram> {
  const server = await PostgresServer.start({ max_connections: 400 });
  return { address: String(server.port), stop: () => server.stop() };
}
