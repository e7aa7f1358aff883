// Compares a server with a feature to the same server without it.

import type { ColloquyHandlers, ColloquyInput } from "../colloquy.ts";
import type { RequestPlan } from "../load/requests.ts";
import type { RoleProcess } from "../role.ts";
import { median } from "../statistics.ts";
import { formatCount, formatRounds, type Row } from "../table.ts";
import { checkStatuses, CONNECTIONS, inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

interface Comparison {
  /** A feature, and the requests that measure its cost. */
  readonly name: string;
  readonly feature: Omit<ColloquyInput, "directory">;
  /** Minimum ratio of the throughput. */
  readonly least: number;
  /** Prepares the server and returns the requests. `hasFeature` is false for the control. */
  readonly prepare: (port: number, hasFeature: boolean) => Promise<RequestPlan>;
}

export async function compareFeature(context: RowContext, comparison: Comparison): Promise<Row> {
  const { name, feature, least, prepare } = comparison;
  const measure = async (hasFeature: boolean) => {
    // Each round has a fresh server, without the sessions of the round before.
    const server = startColloquyRole(context, {
      limits: { maxWaiting: 10_000_000 },
      ...(hasFeature && feature),
    });
    try {
      return await measureServer(context, server, (port) => prepare(port, hasFeature));
    } finally {
      await stopAll([server]);
    }
  };
  const rounds = await inTurn(
    context.rounds,
    () => measure(true),
    () => measure(false),
  );
  const ratios = rounds.map((round) => round.colloquy / round.control);
  return {
    name: `${name}, ${CONNECTIONS} connections`,
    colloquy: formatCount(median(rounds.map((round) => round.colloquy)), "/s"),
    control: formatCount(median(rounds.map((round) => round.control)), "/s"),
    ratio: formatRounds(ratios),
    target: `at least ${least}`,
    met: median(ratios) >= least,
  };
}

async function measureServer(
  { client, warmUpMs, measuredMs }: RowContext,
  server: RoleProcess<ColloquyHandlers>,
  prepare: (port: number) => Promise<RequestPlan>,
): Promise<number> {
  const port = await server.ask("port");
  const plan = await prepare(port);
  const result = await client.ask("closedLoop", {
    port,
    connections: CONNECTIONS,
    plan,
    warmUpMs,
    measuredMs,
  });
  checkStatuses(result);
  return result.perSecond;
}
