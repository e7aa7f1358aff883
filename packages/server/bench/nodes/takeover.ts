// How long the turns of a killed node pause: from `kill -9` until another node's model call starts.

import { setTimeout as sleep } from "node:timers/promises";
import { postRequest, randomSessionId } from "../load/requests.ts";
import { machineMs } from "../machine-clock.ts";
import type { RowContext } from "../rows/row.ts";
import { median, spread } from "../statistics.ts";
import type { Row } from "../table.ts";
import { formatHistogram } from "./histogram.ts";
import { BUSES, untilCalls, withServers, type BenchNode, type BusName } from "./servers.ts";

const WAVES = 3;
/** Nodes killed in one wave; fewer seconds apart than a lease lasts, so that none takes over from another. */
const VICTIMS = 4;
const TURNS_OF_EACH = 4;
/** Interval of lease renewals: the kills are spread evenly over it. */
const RENEWED_EVERY_MS = 3000;
const MAX_MS = 15_000;

export async function measureTakeover(context: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const bus of context.quick ? BUSES.slice(0, 1) : BUSES) rows.push(await measureOn(bus, context));
  return rows;
}

function measureOn(bus: BusName, context: RowContext): Promise<Row> {
  return withServers(bus, async (servers) => {
    const database = await servers.postgres.createDatabase();
    const [survivor] = await servers.startNodes(context, database, 1);
    if (survivor === undefined) throw new Error("There is a node");
    const waves = context.quick ? 1 : WAVES;
    const taken: number[] = [];
    for (let wave = 0; wave < waves; wave += 1) {
      const victims = await servers.startNodes(context, database, VICTIMS);
      const killed = victims.map((victim, index) => {
        const afterMs = (RENEWED_EVERY_MS * (index * waves + wave)) / (VICTIMS * waves);
        return killAndWait(context, { victim, survivor, name: `wave-${wave}-${index}`, afterMs });
      });
      taken.push(...(await Promise.all(killed)).flat());
    }
    const [least, greatest] = spread(taken);
    return {
      name: `takeover: from \`kill -9\` until another node's model call begins, ${waves * VICTIMS} kills with ${TURNS_OF_EACH} turns each, ${bus}`,
      colloquy: `p50 ${seconds(median(taken))}, ${seconds(least)} to ${seconds(greatest)}; ${formatHistogram(taken, 1000, "s")}`,
      control: "–",
      ratio: `longest ${seconds(greatest)}`,
      target: `at most ${MAX_MS / 1000} s`,
      met: greatest <= MAX_MS,
    };
  });
}

interface Kill {
  readonly victim: BenchNode;
  readonly survivor: BenchNode;
  readonly name: string;
  /** Milliseconds between the start of its turns and the kill. */
  readonly afterMs: number;
}

/** Returns the milliseconds that each turn of the victim paused. */
async function killAndWait({ client }: RowContext, { victim, survivor, name, afterMs }: Kill) {
  const names = Array.from({ length: TURNS_OF_EACH }, (_, index) => `${name}-${index}`);
  const requests = names.map((turn) => postRequest(`/api/chat?message=follow+${turn}`, randomSessionId()));
  await client.ask("fetch", { port: await victim.ask("port"), requests });
  await untilCalls(victim, names);
  await sleep(afterMs);
  const killedAt = machineMs();
  await victim.kill();
  const calls = await untilCalls(survivor, names);
  return calls.map(({ begunAt }) => begunAt - killedAt);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
