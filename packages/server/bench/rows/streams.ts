// Ten thousand open event streams: what each costs, and how long an event takes to one of them.

import type { StreamsHandlers, StreamsInput } from "../controls/streams.ts";
import { getRequest, patchRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { median, percentile } from "../statistics.ts";
import { formatCount, formatMs, formatRounds, type Row } from "../table.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

const ACCEPT = "Accept: text/event-stream\r\n";
/** Streams whose session has a turn that runs, and so can say something at any time. */
const FOLLOWED = 200;
const EVENTS_A_ROUND = 1000;

interface Trigger {
  readonly stream: number;
  readonly request: string;
  readonly mark: string;
}

/** Writes the request that makes an event with this mark on this stream. */
type WriteTrigger = (stream: number, mark: string) => string;

/** What is done to a server, and how its requests look. */
interface Subject {
  readonly server: RoleProcess<StreamsHandlers>;
  readonly streams: readonly string[];
  /** Requests before anything is measured. */
  readonly preparation: readonly string[];
  readonly live: WriteTrigger;
  readonly durable: WriteTrigger;
}

interface Measured {
  /** Bytes of the server that each stream adds. */
  readonly bytesEach: number;
  /** Delays in milliseconds, a list for each round. */
  readonly live: readonly (readonly number[])[];
  readonly durable: readonly (readonly number[])[];
}

export async function measureStreams(context: RowContext): Promise<readonly Row[]> {
  const sessions = Array.from({ length: context.quick ? 2000 : 10_000 }, randomSessionId);
  const control = await measureOne(context, controlSubject(context, sessions));
  const colloquy = await measureOne(context, colloquySubject(context, sessions));
  const memory = colloquy.bytesEach / control.bytesEach;
  return [
    {
      name: `memory of an open stream, ${formatCount(sessions.length, "")} of them`,
      colloquy: `${(colloquy.bytesEach / 1024).toFixed(1)} KB`,
      control: `${(control.bytesEach / 1024).toFixed(1)} KB`,
      ratio: memory.toFixed(2),
      target: "at most 1.3",
      met: memory <= 1.3,
    },
    delayRow("p99 of an event to one of them: text that a model says", colloquy.live, control.live),
    delayRow(
      "the same, an event that is stored first (a rename; one row)",
      colloquy.durable,
      control.durable,
    ),
  ];
}

function delayRow(name: string, own: Measured["live"], bare: Measured["live"]): Row {
  const p99 = (rounds: Measured["live"]) => rounds.map((round) => percentile(round, 0.99));
  const ratios = p99(own).map((value, round) => value / (p99(bare)[round] ?? value));
  const describe = (rounds: Measured["live"]) =>
    `${formatMs(median(p99(rounds)))} (p50 ${formatMs(median(rounds.flat()))})`;
  return {
    name,
    colloquy: describe(own),
    control: describe(bare),
    ratio: formatRounds(ratios),
    target: "at most 3",
    met: median(ratios) <= 3,
  };
}

function controlSubject(context: RowContext, sessions: readonly string[]): Subject {
  const post = (stream: number, mark: string, durable: string) =>
    postRequest(`/?stream=${stream}&mark=${mark}${durable}`, sessions[stream] ?? "");
  return {
    server: new RoleProcess<StreamsHandlers>("streams", {
      directory: context.newDirectory(),
    } satisfies StreamsInput),
    streams: sessions.map((id, stream) => getRequest(`/?stream=${stream}`, id, ACCEPT)),
    preparation: [],
    live: (stream, mark) => post(stream, mark, ""),
    durable: (stream, mark) => post(stream, mark, "&durable"),
  };
}

function colloquySubject(context: RowContext, sessions: readonly string[]): Subject {
  return {
    server: startColloquyRole(context),
    streams: sessions.map((id) => getRequest("/api/updates?include=messages", id, ACCEPT)),
    // The sessions are there before anything is measured: what a stream costs is asked, not what a session does.
    preparation: sessions.map((id, stream) =>
      stream < FOLLOWED
        ? postRequest(`/api/chat?message=follow+${stream}`, id)
        : getRequest("/api/state", id),
    ),
    live: (stream, mark) => postRequest(`/?stream=${stream}&mark=${mark}`, sessions[stream] ?? ""),
    durable: (stream, mark) => {
      const id = sessions[stream] ?? "";
      return patchRequest(`/api/sessions/${id}`, id, JSON.stringify({ title: mark }));
    },
  };
}

async function measureOne(context: RowContext, subject: Subject): Promise<Measured> {
  const { client, rounds } = context;
  const { server, streams } = subject;
  try {
    const [port, triggerPort] = [await server.ask("port"), await server.ask("triggerPort")];
    await client.ask("fetch", { port, requests: subject.preparation });
    // The first hundred warm the server up and are not counted.
    await client.ask("openStreams", { name: "warm", port, requests: streams.slice(0, 100) });
    await client.ask("closeStreams", { name: "warm" });
    const before = await server.ask("memory");
    await client.ask("openStreams", { name: "all", port, requests: streams });
    const after = await server.ask("memory");
    const measure = async (at: number, among: number, write: WriteTrigger, name: string) => {
      const delays: number[][] = [];
      for (let round = 0; round < rounds; round += 1) {
        const triggers = triggersOf(among, `${name}-${round}`, write);
        delays.push(await client.ask("measureStreams", { name: "all", port: at, triggers }));
      }
      return delays;
    };
    const live = await measure(triggerPort, FOLLOWED, subject.live, "live");
    const durable = await measure(port, streams.length, subject.durable, "durable");
    await client.ask("closeStreams", { name: "all" });
    return { bytesEach: (after - before) / streams.length, live, durable };
  } finally {
    await stopAll([server]);
  }
}

/** Events to streams far apart from each other, each with a mark of its own. */
function triggersOf(among: number, name: string, write: WriteTrigger): Trigger[] {
  return Array.from({ length: EVENTS_A_ROUND }, (_, index) => {
    const stream = (index * 7919) % among;
    const mark = `mark-${name}-${index}-end`;
    return { stream, request: write(stream, mark), mark };
  });
}
