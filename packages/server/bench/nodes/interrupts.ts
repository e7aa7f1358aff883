// Time from an interrupt on one node until the model call on another node is aborted, against the commit of
// one row and a raw hop.

import { postRequest, randomSessionId } from "../load/requests.ts";
import { inTurn, type RowContext } from "../rows/row.ts";
import type { Row } from "../table.ts";
import { hopRow, startHops } from "./hops.ts";
import { BUSES, untilCalls, withServers, type BenchNode, type BusName } from "./servers.ts";

/**
 * An interrupt takes five CPU milliseconds in total: at a shorter interval the row would measure waiting for
 * two cores.
 */
const EVERY_MS = 10;
/** Concurrent turns, below the limit of a process. */
const TURNS = 240;

export async function measureInterrupts(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const bus of BUSES) rows.push(await measureOn(bus, context));
  return rows;
}

function measureOn(bus: BusName, context: RowContext): Promise<Row> {
  return withServers(bus, async (servers) => {
    const nodes = await servers.startNodes(context, await servers.postgres.createDatabase(), 2);
    const hops = await startHops(servers);
    const [runner, other] = nodes;
    if (runner === undefined || other === undefined) throw new Error("There are two nodes");
    // A warm-up round.
    await interrupt(context, runner, other, "warm-up");
    await hops.measure(TURNS, EVERY_MS, true);
    let serial = 0;
    const rounds = await inTurn(
      context.rounds,
      () => interrupt(context, runner, other, `round-${(serial += 1)}`),
      () => hops.measure(TURNS, EVERY_MS, true),
    );
    return hopRow(
      `p99 from an interrupt on one node until the model call on another is aborted, over ${bus} (control: one commit and a raw hop)`,
      rounds,
    );
  });
}

/** Starts turns on one node and interrupts them on the other, one by one. Returns milliseconds. */
async function interrupt(
  { client }: RowContext,
  runner: BenchNode,
  other: BenchNode,
  name: string,
): Promise<readonly number[]> {
  const ids = Array.from({ length: TURNS }, randomSessionId);
  const names = ids.map((_id, index) => `${name}-${index}`);
  const requests = ids.map((id, index) => postRequest(`/api/chat?message=follow+${names[index] ?? ""}`, id));
  await client.ask("fetch", { port: await runner.ask("port"), requests });
  await untilCalls(runner, names);
  const sent = await client.ask("fetchTimed", {
    port: await other.ask("port"),
    requests: ids.map((id) => postRequest("/api/interrupt", id)),
    everyMs: EVERY_MS,
  });
  const calls = await untilCalls(runner, names, ({ abortedAt }) => abortedAt !== null);
  return calls.map(({ abortedAt }, index) => (abortedAt ?? Number.NaN) - (sent[index] ?? Number.NaN));
}
