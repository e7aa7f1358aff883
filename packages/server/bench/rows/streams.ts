// Ten thousand open event streams: what each costs, and how long an event takes to one of them.

import type { StreamsHandlers } from "../controls/streams.ts";
import { getRequest, patchRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { median, percentile } from "../statistics.ts";
import { formatCount, formatMs, formatRounds, type Row } from "../table.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

const ACCEPT = "Accept: text/event-stream\r\n";

interface Trigger {
  readonly stream: number;
  readonly request: string;
  readonly mark: string;
}

interface Measured {
  /** Bytes of the server that each stream adds. */
  readonly bytesEach: number;
  /** Delays in milliseconds, a list for each round. */
  readonly delays: readonly (readonly number[])[];
}

export async function measureStreams(context: RowContext): Promise<readonly Row[]> {
  const count = context.quick ? 2000 : 10_000;
  const sessions = Array.from({ length: count }, randomSessionId);
  const colloquyStreams = sessions.map((id) => getRequest("/api/updates", id, ACCEPT));
  const controlStreams = sessions.map((id, stream) => getRequest(`/?stream=${stream}`, id, ACCEPT));
  const rename = (stream: number, mark: string) =>
    patchRequest(
      `/api/sessions/${sessions[stream] ?? ""}`,
      sessions[stream] ?? "",
      JSON.stringify({ title: mark }),
    );
  const emit = (stream: number, mark: string) =>
    postRequest(`/?stream=${stream}&mark=${mark}`, sessions[stream] ?? "");

  const control = await measureOne(
    context,
    new RoleProcess<StreamsHandlers>("streams", null),
    controlStreams,
    emit,
  );
  const colloquy = await measureOne(context, startColloquyRole(context), colloquyStreams, rename);
  const memory = colloquy.bytesEach / control.bytesEach;
  const p99 = [colloquy, control].map(({ delays }) => delays.map((round) => percentile(round, 0.99)));
  const [own = [], bare = []] = p99;
  const p50 = [colloquy, control].map(({ delays }) => median(delays.flat()));
  const ratios = own.map((value, round) => value / (bare[round] ?? value));
  return [
    {
      name: `memory of an open stream, ${formatCount(count, "")} of them`,
      colloquy: `${(colloquy.bytesEach / 1024).toFixed(1)} KB`,
      control: `${(control.bytesEach / 1024).toFixed(1)} KB`,
      ratio: memory.toFixed(2),
      target: "at most 1.3",
      met: memory <= 1.3,
    },
    {
      name: "p99 from a request to its event on one of the streams (a rename, durable; the control stores nothing)",
      colloquy: `${formatMs(median(own))} (p50 ${formatMs(p50[0] ?? 0)})`,
      control: `${formatMs(median(bare))} (p50 ${formatMs(p50[1] ?? 0)})`,
      ratio: formatRounds(ratios),
      target: "at most 3",
      met: median(ratios) <= 3,
    },
  ];
}

async function measureOne(
  context: RowContext,
  server: RoleProcess<StreamsHandlers>,
  streams: readonly string[],
  trigger: (stream: number, mark: string) => string,
): Promise<Measured> {
  const { client } = context;
  try {
    const port = await server.ask("port");
    // The first hundred warm the server up and are not counted.
    const warm = streams.slice(0, 100);
    await client.ask("openStreams", { name: "warm", port, requests: warm });
    await client.ask("closeStreams", { name: "warm" });
    const before = await server.ask("memory");
    await client.ask("openStreams", { name: "all", port, requests: streams });
    const after = await server.ask("memory");
    const delays: number[][] = [];
    for (let round = 0; round < context.rounds; round += 1) {
      const triggers = triggersOf(streams.length, round, trigger);
      delays.push(await client.ask("measureStreams", { name: "all", port, triggers }));
    }
    await client.ask("closeStreams", { name: "all" });
    return { bytesEach: (after - before) / streams.length, delays };
  } finally {
    await stopAll([server]);
  }
}

/** Events to streams far apart from each other, each with a mark of its own. */
function triggersOf(
  streams: number,
  round: number,
  trigger: (stream: number, mark: string) => string,
): Trigger[] {
  return Array.from({ length: 1500 }, (_, index) => {
    const stream = (index * 7919 + round * 31) % streams;
    const mark = `mark-${round}-${index}-end`;
    return { stream, request: trigger(stream, mark), mark };
  });
}
