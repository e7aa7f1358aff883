// How far the state on one node lags behind text streaming on another: the age of the oldest piece missing
// from an answer when it was requested. Target: 250 ms, the checkpoint interval.

import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import type { RowContext } from "../rows/row.ts";
import { percentile } from "../statistics.ts";
import { formatMs, type Row } from "../table.ts";
import { BUSES, untilCalls, withServers, type BenchNode, type BusName } from "./servers.ts";

/** Turns that stream twenty pieces a second beside the measured one. */
const BESIDE = [0, 200] as const;
const PIECE_EVERY_MS = 20;
const ASKED_EVERY_MS = 10;
const MAX_MS = 250;

export async function measureTexts(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const bus of BUSES) rows.push(...(await measureOn(bus, context)));
  return rows;
}

function measureOn(bus: BusName, context: RowContext): Promise<readonly Row[]> {
  return withServers(bus, async (servers) => {
    const [runner, other] = await servers.startNodes(context, await servers.postgres.createDatabase(), 2);
    if (runner === undefined || other === undefined) throw new Error("There are two nodes");
    const port = await runner.ask("port");
    const rows: Row[] = [];
    let streaming = 0;
    for (const beside of BESIDE) {
      const more = Array.from({ length: beside - streaming }, () =>
        postRequest("/api/chat?message=stream", randomSessionId()),
      );
      if (more.length > 0) await context.client.ask("fetch", { port, requests: more });
      streaming = beside;
      rows.push(rowOf(bus, beside, await readElsewhere(context, runner, other, `beside-${beside}`)));
    }
    return rows;
  });
}

/**
 * Streams text piece by piece on one node while polling the state on the other. Returns the ages of missing
 * pieces.
 */
async function readElsewhere(
  { client, rounds, measuredMs }: RowContext,
  runner: BenchNode,
  other: BenchNode,
  name: string,
): Promise<readonly number[]> {
  const id = randomSessionId();
  const begun = [postRequest(`/api/chat?message=follow+${name}`, id)];
  await client.ask("fetch", { port: await runner.ask("port"), requests: begun });
  await untilCalls(runner, [name]);
  const pieces = Math.ceil((rounds * measuredMs) / PIECE_EVERY_MS);
  const marks = Array.from({ length: pieces }, (_, index) => `piece-${index}`);
  const asked = client.ask("poll", {
    port: await other.ask("port"),
    request: getRequest("/api/state", id),
    everyMs: ASKED_EVERY_MS,
    forMs: pieces * PIECE_EVERY_MS,
    counted: "piece-",
  });
  const saying = runner.ask("sayPaced", { names: [name], marks, everyMs: PIECE_EVERY_MS });
  const [answers, said] = await Promise.all([asked, saying]);
  return ages(said, answers);
}

/** Returns for each answer the age in milliseconds of the oldest missing piece, 0 if none is missing. */
function ages(
  said: readonly (readonly [mark: string, saidAt: number])[],
  answers: readonly (readonly [askedAt: number, count: number])[],
): readonly number[] {
  const most = Math.max(...answers.map(([, count]) => count));
  if (most === 0 || most > said.length) {
    throw new Error(`${said.length} pieces were said, and an answer had ${most} of them`);
  }
  return answers.map(([askedAt, count]) => Math.max(0, askedAt - (said[count]?.[1] ?? askedAt)));
}

function rowOf(bus: BusName, beside: number, behind: readonly number[]): Row {
  const longest = Math.max(...behind);
  return {
    name: `how far state on another node is behind text that streams, ${beside} turns beside it, over ${bus}`,
    colloquy: `p50 ${formatMs(percentile(behind, 0.5))}, p99 ${formatMs(percentile(behind, 0.99))} of ${behind.length} answers`,
    control: "–",
    ratio: `longest ${formatMs(longest)}`,
    target: `at most ${MAX_MS} ms`,
    met: longest <= MAX_MS,
  };
}
