// Cost of rate limits per request: compares a server with limits (behind a trusted proxy) with the same
// server without (on a loopback bind).

import type { ColloquyHandlers } from "../colloquy.ts";
import { getRequest, randomSessionId, type RequestPlan } from "../load/requests.ts";
import type { RoleProcess } from "../role.ts";
import { median } from "../statistics.ts";
import { formatCount, formatRounds, type Row } from "../table.ts";
import { checkStatuses, CONNECTIONS, inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";
import { makeSmallSession } from "./state.ts";

/**
 * Minimum ratio of the throughput with limits; tolerates noise, but is high enough to detect a budget that
 * reads a store or copies data.
 */
const LEAST = 0.9;

/** Counts in more budgets than other requests: a new session in one more, a message in two more. */
const CHAT: RequestPlan = { kind: "chat", messagesPerSession: 10, prefer: null, text: "park+this+turn" };

export async function measureRateLimits(context: RowContext): Promise<readonly Row[]> {
  return [
    await compare(context, "state of a session of 2 KB", async (port) => {
      const sessionId = randomSessionId();
      await makeSmallSession(context, port, sessionId);
      return { kind: "fixed", request: getRequest("/api/state", sessionId) };
    }),
    await compare(context, "chat accepted and durable", () => Promise.resolve(CHAT)),
  ];
}

async function compare(
  context: RowContext,
  name: string,
  prepare: (port: number) => Promise<RequestPlan>,
): Promise<Row> {
  const measure = async (isLimited: boolean) => {
    // Each round has a fresh server, without the sessions of the round before.
    const server = startColloquyRole(context, { maxWaiting: 10_000_000 }, undefined, isLimited);
    try {
      return await measureServer(context, server, prepare);
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
    name: `${name}, ${CONNECTIONS} connections, rate-limited, against the same without limits`,
    colloquy: formatCount(median(rounds.map((round) => round.colloquy)), "/s"),
    control: formatCount(median(rounds.map((round) => round.control)), "/s"),
    ratio: formatRounds(ratios),
    target: `at least ${LEAST}`,
    met: median(ratios) >= LEAST,
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
