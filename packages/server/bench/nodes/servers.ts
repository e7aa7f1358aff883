// Servers shared by the nodes of the bench: PostgreSQL with durable commits, and NATS if it carries the
// notifications.

import { setTimeout as sleep } from "node:timers/promises";
import { isWithoutNats, NatsServer } from "../../test/nats-server.ts";
import { PostgresServer } from "../../test/postgres-server.ts";
import type { ColloquyHandlers, ColloquyInput } from "../colloquy.ts";
import type { FollowedCall } from "../models.ts";
import { RoleProcess } from "../role.ts";
import type { RowContext } from "../rows/row.ts";

export const BUSES = ["LISTEN/NOTIFY", "NATS"] as const;
export type BusName = (typeof BUSES)[number];

export type BenchNode = RoleProcess<ColloquyHandlers>;

/** Time-out for conditions, much longer than they take. */
const TIMEOUT_MS = 60_000;

interface Stoppable {
  stop(): Promise<void>;
}

export class BenchServers {
  readonly postgres: PostgresServer;
  readonly #nats: NatsServer | null;
  readonly #kept: Stoppable[] = [];

  private constructor(postgres: PostgresServer, nats: NatsServer | null) {
    this.postgres = postgres;
    this.#nats = nats;
  }

  static async start(bus: BusName): Promise<BenchServers> {
    if (bus === "NATS" && (await isWithoutNats())) {
      throw new Error("There is no NATS here: apt-get install nats-server");
    }
    const postgres = await PostgresServer.start({ fsync: "on", full_page_writes: "on", autovacuum: "on" });
    return new BenchServers(postgres, bus === "NATS" ? await NatsServer.start() : null);
  }

  get natsUrl(): string | null {
    return this.#nats === null ? null : `nats://127.0.0.1:${this.#nats.port}`;
  }

  /** Starts nodes on a database one by one: the first one creates its tables. */
  async startNodes(
    context: RowContext,
    database: string,
    count: number,
    limits: ColloquyInput["limits"] = {},
  ): Promise<readonly BenchNode[]> {
    const shared = { databaseUrl: this.postgres.url(database), natsUrl: this.natsUrl };
    const nodes: BenchNode[] = [];
    for (let number = 0; number < count; number += 1) {
      const input: ColloquyInput = { directory: context.newDirectory(), limits, shared };
      const node: BenchNode = new RoleProcess("colloquy", input, context.nodeArguments);
      nodes.push(this.keep(node));
      await node.ask("port");
    }
    return nodes;
  }

  /** Stops it with the servers, unless stopped before. */
  keep<Kept extends Stoppable>(process: Kept): Kept {
    this.#kept.push(process);
    return process;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#kept.map((process) => process.stop()));
    await this.#nats?.stop();
    await this.postgres.stop();
  }
}

/** Runs `work` with its own servers, and always stops them and what was started on them. */
export async function withServers<Result>(
  bus: BusName,
  work: (servers: BenchServers) => Promise<Result>,
): Promise<Result> {
  const servers = await BenchServers.start(bus);
  try {
    return await work(servers);
  } finally {
    await servers.stop();
  }
}

/** Polls until the answer is not `null`. */
export async function until<Result>(what: string, ask: () => Promise<Result | null>): Promise<Result> {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    const answer = await ask();
    if (answer !== null) return answer;
    await sleep(50);
  }
  throw new Error(`Timed out waiting until ${what}`);
}

/** Resolves with a node's model calls for these names once all meet the condition. */
export function untilCalls(
  node: BenchNode,
  names: readonly string[],
  isAsked: (call: FollowedCall) => boolean = () => true,
): Promise<readonly FollowedCall[]> {
  return until(`${names.length} model calls are as asked for`, async () => {
    const calls = await node.ask("calls");
    const found = names.flatMap((name) => calls[name] ?? []);
    return found.length === names.length && found.every(isAsked) ? found : null;
  });
}
