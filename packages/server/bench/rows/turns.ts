// Whole turns on an instant model of ten deltas, against the SDK's streamText over the same model: throughput
// and added latency.

import type { SdkHandlers } from "../controls/sdk.ts";
import type { LoopResult } from "../load/closed-loop.ts";
import type { RequestPlan } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { median } from "../statistics.ts";
import { formatCount, formatMs, formatRounds, type Row } from "../table.ts";
import { checkStatuses, CONNECTIONS, inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

/** Turns per session, as in a short conversation. */
const TURNS_PER_SESSION = 10;

/** With `Prefer: wait`, a chat is answered when its turn has ended, so a request is a whole turn. */
const NATIVE: RequestPlan = {
  kind: "chat",
  messagesPerSession: TURNS_PER_SESSION,
  prefer: "wait=60",
  text: "say+ten+small+pieces",
};
/** Row names by protocol. Streaming protocols are also compared with the native endpoint, which does not stream. */
const PROTOCOLS = {
  "ai-sdk": "streamed to the AI SDK",
  "ag-ui": "streamed to AG-UI",
  responses: "through OpenAI Responses",
  "streamed responses": "streamed through OpenAI Responses",
  "chat completions": "through Chat Completions",
  "streamed chat completions": "streamed through Chat Completions",
  mcp: "through MCP",
} as const;

async function runTurns(
  context: RowContext,
  port: number,
  connections: number,
  plan = NATIVE,
): Promise<LoopResult> {
  const result = await context.client.ask("closedLoop", {
    port,
    connections,
    plan,
    warmUpMs: context.warmUpMs,
    measuredMs: context.measuredMs,
  });
  checkStatuses(result);
  return result;
}

export async function measureTurns(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  const control = new RoleProcess<SdkHandlers>("sdk", null);
  const { warmUpMs, measuredMs } = context;
  try {
    const port = await colloquy.ask("port");
    const many = await inTurn(
      context.rounds,
      async () => (await runTurns(context, port, CONNECTIONS)).perSecond,
      async () => (await control.ask("run", { inFlight: 16, warmUpMs, measuredMs })).perSecond,
    );
    const single = await inTurn(
      context.rounds,
      async () => median((await runTurns(context, port, 1)).latencies),
      async () => median((await control.ask("run", { inFlight: 1, warmUpMs, measuredMs })).latencies),
    );
    const ratios = many.map((round) => round.colloquy / round.control);
    const added = single.map((round) => round.colloquy - round.control);
    return [
      {
        name: "whole turns on an instant model of ten deltas",
        colloquy: formatCount(median(many.map((round) => round.colloquy)), "/s"),
        control: formatCount(median(many.map((round) => round.control)), "/s"),
        ratio: formatRounds(ratios),
        target: "at least 0.5",
        met: median(ratios) >= 0.5,
      },
      {
        name: "time of a turn, one at a time",
        colloquy: formatMs(median(single.map((round) => round.colloquy))),
        control: formatMs(median(single.map((round) => round.control))),
        ratio: `adds ${formatRounds(added)} ms`,
        target: "adds at most 3 ms",
        met: median(added) <= 3,
      },
    ];
  } finally {
    await stopAll([colloquy, control]);
  }
}

/** Compares whole turns through each protocol with the native endpoint. */
export async function measureProtocols(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const protocol of Object.keys(PROTOCOLS) as (keyof typeof PROTOCOLS)[])
    rows.push(await measureProtocol(context, protocol));
  return rows;
}

async function measureProtocol(context: RowContext, protocol: keyof typeof PROTOCOLS): Promise<Row> {
  const plan = {
    kind: "protocol",
    protocol,
    messagesPerSession: TURNS_PER_SESSION,
    text: "say ten small pieces",
  } as const;
  const colloquy = startColloquyRole(context);
  try {
    const port = await colloquy.ask("port");
    const rounds = await inTurn(
      context.rounds,
      async () => (await runTurns(context, port, CONNECTIONS, plan)).perSecond,
      async () => (await runTurns(context, port, CONNECTIONS)).perSecond,
    );
    const ratios = rounds.map((round) => round.colloquy / round.control);
    return {
      name: `whole turns ${PROTOCOLS[protocol]} (control: the native endpoint)`,
      colloquy: formatCount(median(rounds.map((round) => round.colloquy)), "/s"),
      control: formatCount(median(rounds.map((round) => round.control)), "/s"),
      ratio: formatRounds(ratios),
      target: "at least 0.8",
      met: median(ratios) >= 0.8,
    };
  } finally {
    await stopAll([colloquy]);
  }
}
