// Chats that one node and two nodes accept on PostgreSQL, with parked turns, compared with plain multi-row
// inserts of the rows that one of them stored.

import type { RowsHandlers, RowsInput } from "../controls/rows.ts";
import { postRequest, randomSessionId, type RequestPlan } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { checkStatuses, CONNECTIONS, stopAll, type RowContext } from "../rows/row.ts";
import { median } from "../statistics.ts";
import { formatCount, formatRounds, type Row } from "../table.ts";
import { BUSES, withServers, type BenchNode, type BenchServers, type BusName } from "./servers.ts";

/** Effectively unlimited, so that no chat is refused because others wait. */
const LIMITS = { maxWaiting: 10_000_000 } as const;
const MESSAGES_PER_SESSION = 10;
const LEAST = 0.25;
/** Maximum milliseconds of a round; inserting all its chats takes far less. */
const TIMEOUT_MS = 60_000;

/** Chats per second in one round. */
interface Round {
  readonly one: number;
  readonly two: number;
  /** Chats per second of a bare `node:http` server with the same client. */
  readonly control: number;
  /** Chats per second of inserts in a loop, without HTTP. */
  readonly loop: number;
}

export async function measureChats(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const bus of BUSES) rows.push(...(await measureOn(bus, context)));
  return rows;
}

function measureOn(bus: BusName, context: RowContext): Promise<readonly Row[]> {
  return withServers(bus, async (servers) => {
    const rounds: Round[] = [];
    for (let round = 0; round < context.rounds; round += 1) {
      const two = await acceptOn(context, servers, await servers.postgres.createDatabase(), 2);
      const database = await servers.postgres.createDatabase();
      const one = await acceptOn(context, servers, database, 1);
      rounds.push({ one, two, ...(await insertAgain(context, servers, database)) });
    }
    return (["one", "two"] as const).flatMap((nodes) => {
      const name = `chats accepted and durable, ${nodes === "one" ? "one node" : "two nodes"}, ${CONNECTIONS} connections in all, turns parked, ${bus}`;
      return [
        chatRow(
          `${name} (control: bare node:http, multi-row inserts of the same rows)`,
          rounds,
          nodes,
          "control",
        ),
        chatRow(
          `the same (control: those inserts in a loop, ${CONNECTIONS} chats a transaction, without HTTP)`,
          rounds,
          nodes,
          "loop",
        ),
      ];
    });
  });
}

function chatRow(
  name: string,
  rounds: readonly Round[],
  nodes: "one" | "two",
  control: "control" | "loop",
): Row {
  const ratios = rounds.map((round) => round[nodes] / round[control]);
  return {
    name,
    colloquy: formatCount(median(rounds.map((round) => round[nodes])), "/s"),
    control: formatCount(median(rounds.map((round) => round[control])), "/s"),
    ratio: formatRounds(ratios),
    target: `at least ${LEAST}`,
    met: median(ratios) >= LEAST,
  };
}

/** Returns the chats per second that new nodes accept together on an empty database. */
async function acceptOn(
  context: RowContext,
  servers: BenchServers,
  database: string,
  count: number,
): Promise<number> {
  const nodes = await servers.startNodes(context, database, count, LIMITS);
  try {
    const each = await Promise.all(nodes.map((node) => accept(context, node, CONNECTIONS / count)));
    return each.reduce((sum, perSecond) => sum + perSecond, 0);
  } finally {
    await stopAll(nodes);
  }
}

async function accept(context: RowContext, node: BenchNode, connections: number): Promise<number> {
  const { client, warmUpMs, measuredMs } = context;
  const result = await client.ask("closedLoop", {
    port: await node.ask("port"),
    connections,
    plan: {
      kind: "chat",
      messagesPerSession: MESSAGES_PER_SESSION,
      prefer: null,
      text: "park+this+turn+until+the+gate+opens",
    },
    warmUpMs,
    measuredMs,
  });
  checkStatuses(result);
  return result.perSecond;
}

/** Inserts Colloquy's rows again. The first run is a warm-up. */
async function insertAgain({ client }: RowContext, servers: BenchServers, database: string) {
  const databaseUrl = servers.postgres.url(await servers.postgres.createDatabase(database));
  const role = new RoleProcess<RowsHandlers>("rows", { databaseUrl } satisfies RowsInput);
  try {
    await role.ask("insertAll", { together: CONNECTIONS });
    const { chats, seconds } = await role.ask("insertAll", { together: CONNECTIONS });
    const port = await role.ask("port");
    let control = 0;
    for (let time = 1; time <= 2; time += 1) {
      const atMost = await role.ask("empty");
      const plan: RequestPlan = { kind: "fixed", request: postRequest("/", randomSessionId()) };
      const loop = { port, connections: CONNECTIONS, plan, warmUpMs: 0, measuredMs: TIMEOUT_MS, atMost };
      control = (await client.ask("closedLoop", loop)).perSecond;
    }
    return { control, loop: chats / seconds };
  } finally {
    await stopAll([role]);
  }
}
