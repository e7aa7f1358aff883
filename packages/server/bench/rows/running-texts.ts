// Measures how many turns one process can stream at once. Each turn emits twenty pieces a second to one reader. The p99
// delay from model to reader must stay below 100 ms.

import { setTimeout as sleep } from "node:timers/promises";
import type { ColloquyHandlers } from "../colloquy.ts";
import type { ClientHandlers } from "../load/client.ts";
import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { STREAMED_PER_SECOND } from "../models.ts";
import { until, untilCalls } from "../nodes/servers.ts";
import { RoleProcess } from "../role.ts";
import { percentile } from "../statistics.ts";
import { formatMs, type Row } from "../table.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

/** Numbers of concurrent turns to measure, until one fails. */
const LEVELS = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
const TARGET = 1000;
const MAX_MS = 100;
/** Minimum of `Level.emitted`. */
const EMITTED_MIN = 0.9;
/** Number of the turns whose delays are measured. */
const MEASURED = 20;
/** Milliseconds between two measured pieces. */
const EVERY_MS = 5;

interface Level {
  readonly turns: number;
  readonly p99: number;
  /** Share of the due pieces that the models emitted. Below 1, the server was too busy to run their timers on time. */
  readonly emitted: number;
  /** Share of a core that the server used. */
  readonly core: number;
}

interface Subject {
  readonly server: RoleProcess<ColloquyHandlers>;
  readonly client: RoleProcess<ClientHandlers>;
  readonly port: number;
}

export async function measureRunningTexts(context: RowContext): Promise<readonly Row[]> {
  const server = startColloquyRole(context, { limits: { maxRunning: 2 * TARGET } });
  const client = new RoleProcess<ClientHandlers>("client", null);
  try {
    const subject = { server, client, port: await server.ask("port") };
    const names = Array.from({ length: MEASURED }, (_, index) => `running-${index}`);
    await begin(
      subject,
      "measured",
      names.map((name) => `follow+${name}`),
    );
    await untilCalls(server, names);
    const levels: Level[] = [];
    let turns = MEASURED;
    for (const level of LEVELS) {
      await begin(
        subject,
        `beside-${level}`,
        Array.from({ length: level - turns }, () => "stream+text"),
      );
      turns = level;
      levels.push(await measureLevel(subject, context, names, turns));
      if (!levels.every(isGood)) break;
    }
    return [rowOf(levels)];
  } finally {
    await stopAll([client, server]);
  }
}

/** Starts a turn for each message, and reads each with an event stream. */
async function begin({ client, port }: Subject, name: string, messages: readonly string[]): Promise<void> {
  const ids = messages.map(() => randomSessionId());
  const chats = messages.map((message, index) =>
    postRequest(`/api/chat?message=${message}`, ids[index] ?? ""),
  );
  await client.ask("fetch", { port, requests: chats });
  const requests = ids.map((id) =>
    getRequest("/api/updates?include=messages", id, "Accept: text/event-stream\r\n"),
  );
  await client.ask("openStreams", { name, port, requests });
}

async function measureLevel(
  { server, client }: Subject,
  { warmUpMs, measuredMs, rounds }: RowContext,
  names: readonly string[],
  turns: number,
): Promise<Level> {
  await sleep(warmUpMs);
  const count = Math.ceil((measuredMs * rounds) / EVERY_MS);
  const marks = Array.from({ length: count }, (_, index) => `mark-${turns}-${index}-end`);
  await client.ask("recordArrivals", { name: "measured" });
  const [begun, usedBefore, piecesBefore] = [
    performance.now(),
    await server.ask("processorMs"),
    await server.ask("pieces"),
  ];
  const said = await server.ask("sayPaced", { names, marks, everyMs: EVERY_MS });
  const ms = performance.now() - begun;
  const core = ((await server.ask("processorMs")) - usedBefore) / ms;
  const due = ((turns - MEASURED) * STREAMED_PER_SECOND * ms) / 1000;
  const emitted = ((await server.ask("pieces")) - piecesBefore) / due;
  const arrived = await until("all pieces have arrived", async () => {
    const arrivals = new Map(await client.ask("arrivals", { name: "measured" }));
    return marks.every((mark) => arrivals.has(mark)) ? arrivals : null;
  });
  const delays = said.map(([mark, at]) => (arrived.get(mark) ?? Number.NaN) - at);
  return { turns, p99: percentile(delays, 0.99), emitted, core };
}

function isGood({ p99, emitted }: Level): boolean {
  return p99 <= MAX_MS && emitted >= EMITTED_MIN;
}

function rowOf(levels: readonly Level[]): Row {
  const most = levels.findLast(isGood)?.turns ?? 0;
  const measured = levels.map(
    ({ turns, p99, emitted, core }) =>
      `${turns}: ${formatMs(p99)}, ${(emitted * 100).toFixed(0)} % emitted, ${(core * 100).toFixed(0)} % of a core`,
  );
  return {
    name: `texts that stream at once, p99 delay at most ${MAX_MS} ms`,
    colloquy: String(most),
    control: "–",
    ratio: measured.join("; "),
    target: `${TARGET}`,
    met: most >= TARGET,
  };
}
