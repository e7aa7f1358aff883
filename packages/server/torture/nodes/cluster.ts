// Several servers on one PostgreSQL, and on NATS if requested. Each link between them and to their clients
// can be broken.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isWithoutNats, NatsServer } from "../../test/nats-server.ts";
import { PostgresServer } from "../../test/postgres-server.ts";
import { TcpProxy } from "../../test/tcp-proxy.ts";
import { CLIENT_TOOLS } from "../client-tools.ts";
import { OFFICE_PLUGIN } from "../office.ts";
import { findFreePort, ServerProcess, type ServerPlace } from "../harness/server-process.ts";

export const LINKS = ["clients", "database", "bus"] as const;
export type LinkName = (typeof LINKS)[number];

/** Maximum milliseconds until a node is ready. */
const STARTS_MS = 60_000;

/** One node: a process that can be killed and restarted, with its own links. */
export class Node {
  readonly name: string;
  readonly links: Readonly<Record<LinkName, TcpProxy | null>>;
  /** Number of faults so far. */
  impairments = 0;
  #isImpaired = false;
  #isStarting = false;
  /** Whether the current fault keeps it from working on turns. */
  isHindered = false;
  /** Since when requests to the database fail at once; monotonic, in milliseconds. */
  cutOffSince: number | null = null;
  readonly #place: ServerPlace;
  readonly #database: string;
  #starts = 0;
  #server: ServerProcess;

  private constructor(name: string, place: ServerPlace, database: string, links: Node["links"]) {
    this.name = name;
    this.links = links;
    this.#place = place;
    this.#database = database;
    this.#server = this.#start();
  }

  static async start(name: string, main: string, directory: string, shared: Shared): Promise<Node> {
    const port = await findFreePort();
    mkdirSync(directory);
    const config = join(directory, "colloquy.config.json");
    writeFileSync(
      config,
      JSON.stringify({
        plugins: [OFFICE_PLUGIN],
        apps: {
          default: { models: ["demo/assistant"], clientTools: CLIENT_TOOLS },
          office: { ...shared.office, clientTools: CLIENT_TOOLS },
        },
        files: { kind: "directory", path: shared.files },
      }),
    );
    const bus = shared.nats === null ? null : await TcpProxy.start(shared.nats.port);
    const links = {
      clients: await TcpProxy.start(port),
      database: await TcpProxy.start(shared.postgres.port),
      bus,
    };
    const environment = {
      COLLOQUY_CONFIG: config,
      ...(bus !== null && { COLLOQUY_NATS_URL: `nats://127.0.0.1:${bus.port}` }),
    };
    const url = new URL(shared.postgres.url(shared.database));
    url.port = String(links.database.port);
    return new Node(name, { main, directory, port, environment }, url.href, links);
  }

  /** Port for clients. */
  get port(): number {
    const { clients } = this.links;
    if (clients === null) throw new Error("A node has a link to its clients");
    return clients.port;
  }

  /** Whether it currently has a fault. */
  get isImpaired(): boolean {
    return this.#isImpaired;
  }

  set isImpaired(isImpaired: boolean) {
    this.#isImpaired = isImpaired;
    this.impairments += 1;
  }

  /** Whether it is starting. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  /** Whether it can work on turns now. */
  get canWork(): boolean {
    return !this.isHindered && !this.isStarting;
  }

  /** The current process's name in the database. */
  get process(): string {
    return `${this.name}.${this.#starts}`;
  }

  /** The process's own port. */
  get ownPort(): number {
    return this.#place.port;
  }

  get server(): ServerProcess {
    return this.#server;
  }

  restart(): void {
    const server = this.#start();
    this.#server = server;
    this.#isStarting = true;
    const begun = (): void => {
      if (this.#server === server) this.#isStarting = false;
    };
    // If it ends before, the supervisor restarts it.
    server.ready(STARTS_MS).then(begun, () => undefined);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (this.#server.crash === null) process.kill(this.#server.pid, signal);
  }

  async stop(): Promise<void> {
    this.signal("SIGCONT");
    await this.#server.end("SIGKILL");
    for (const link of Object.values(this.links)) await link?.stop();
  }

  /** Each process identifies itself to the database, for the audit of writes. */
  #start(): ServerProcess {
    this.#starts += 1;
    const url = `${this.#database}?application_name=${this.process}`;
    const environment = { ...this.#place.environment, COLLOQUY_DATABASE_URL: url };
    return new ServerProcess({ ...this.#place, environment });
  }
}

interface Shared {
  readonly postgres: PostgresServer;
  readonly database: string;
  readonly nats: NatsServer | null;
  /** The directory of files. */
  readonly files: string;
  /** Section of the App `office`. */
  readonly office: object;
}

export interface Cluster extends Shared {
  readonly nodes: readonly Node[];
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** Number of nodes. */
  readonly nodes: number;
  /** Whether NATS carries notifications, else the database. */
  readonly isOnNats: boolean;
  /** Section of the App `office`. */
  readonly office: object;
}

/** Resolves when all nodes are ready. */
export async function startCluster(
  main: string,
  directory: string,
  { nodes: count, isOnNats, office }: ClusterOptions,
): Promise<Cluster> {
  if (isOnNats && (await isWithoutNats()))
    throw new Error("There is no NATS here: apt-get install nats-server");
  const postgres = await PostgresServer.start();
  const nats = isOnNats ? await NatsServer.start() : null;
  const shared = {
    postgres,
    database: await postgres.createDatabase(),
    nats,
    files: join(directory, "files"),
    office,
  };
  const nodes: Node[] = [];
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
    await nats?.stop();
    await postgres.stop();
  };
  try {
    for (let number = 1; number <= count; number += 1) {
      nodes.push(await Node.start(`node-${number}`, main, join(directory, `node-${number}`), shared));
    }
    for (const { server } of nodes) await server.ready(STARTS_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...shared, nodes, stop };
}
