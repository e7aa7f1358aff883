// Chats accepted and durable on PostgreSQL, by one node and by two, their turns parked behind a gate, against plain multi-row inserts of
// the rows that they have left.

import type { RowsHandlers } from "../controls/rows.ts";
import { RoleProcess } from "../role.ts";
import { checkStatuses, CONNECTIONS, stopAll, type RowContext } from "../rows/row.ts";
import { median } from "../statistics.ts";
import { formatCount, formatRounds, type Row } from "../table.ts";
import { BUSES, withServers, type BenchNode, type BenchServers, type BusName } from "./servers.ts";

/** As many as there are: none is refused because others wait. */
const LIMITS = { maxWaiting: 10_000_000 } as const;
const MESSAGES_PER_SESSION = 10;
const LEAST = 0.25;

interface Round {
  readonly one: number;
  readonly two: number;
  readonly control: number;
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
      rounds.push({ one, two, control: await insertAgain(servers, database) });
    }
    return (["one", "two"] as const).map((nodes) => {
      const ratios = rounds.map((round) => round[nodes] / round.control);
      return {
        name: `chats accepted and durable on PostgreSQL, ${nodes} node${nodes === "one" ? "" : "s"}, ${CONNECTIONS} connections in all, ${bus} (control: multi-row inserts of the same rows, ${CONNECTIONS} chats a transaction)`,
        colloquy: formatCount(median(rounds.map((round) => round[nodes])), "/s"),
        control: formatCount(median(rounds.map((round) => round.control)), "/s"),
        ratio: formatRounds(ratios),
        target: `at least ${LEAST}`,
        met: median(ratios) >= LEAST,
      };
    });
  });
}

/** Chats a second that fresh nodes on an empty database accept together. */
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

/** Chats a second whose rows are inserted. The first time warms it up. */
async function insertAgain(servers: BenchServers, database: string): Promise<number> {
  const databaseUrl = servers.postgres.url(await servers.postgres.createDatabase(database));
  const control = new RoleProcess<RowsHandlers>("rows", { databaseUrl });
  try {
    await control.ask("insert", { together: CONNECTIONS });
    const { chats, seconds } = await control.ask("insert", { together: CONNECTIONS });
    return chats / seconds;
  } finally {
    await stopAll([control]);
  }
}
