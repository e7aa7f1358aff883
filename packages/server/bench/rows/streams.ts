// Ten thousand open event streams: memory per stream, and the delay of events on one of them.

import type { ClientHandlers } from "../load/client.ts";
import type { StreamsHandlers, StreamsInput } from "../controls/streams.ts";
import { getRequest, jsonRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { formatCount, type Row } from "../table.ts";
import { delayRow } from "./delay-row.ts";
import { inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

const ACCEPT = "Accept: text/event-stream\r\n";
/** Streams whose session has a running turn that can emit text at any time. */
const FOLLOWED = 200;
const EVENTS_A_ROUND = 1000;

interface Trigger {
  readonly stream: number;
  readonly request: string;
  readonly mark: string;
}

/** Returns the request that causes an event with this mark on this stream. */
type WriteTrigger = (stream: number, mark: string) => string;

/** How to prepare and trigger a server. */
interface Subject {
  readonly server: RoleProcess<StreamsHandlers>;
  readonly streams: readonly string[];
  /** Requests before the measurement. */
  readonly preparation: readonly string[];
  readonly live: WriteTrigger;
  readonly durable: WriteTrigger;
}

/** A server with all streams open, and the client that holds them. */
interface Opened {
  /** Server memory per stream in bytes. */
  readonly bytesEach: number;
  /** Measures one round of events; returns delays in milliseconds. */
  measure(kind: "live" | "durable", round: number): Promise<readonly number[]>;
  stop(): Promise<void>;
}

export async function measureStreams(context: RowContext): Promise<readonly Row[]> {
  const sessions = Array.from({ length: context.quick ? 2000 : 10_000 }, randomSessionId);
  const control = await openAll(controlSubject(context, sessions));
  const colloquy = await openAll(colloquySubject(context, sessions));
  try {
    const measure = (kind: "live" | "durable") => {
      const next = (opened: Opened) => {
        let round = 0;
        return () => opened.measure(kind, (round += 1));
      };
      return inTurn(context.rounds, next(colloquy), next(control));
    };
    const [live, durable] = [await measure("live"), await measure("durable")];
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
      delayRow("p99 of an event to one of them: text that a model says", live, 3),
      delayRow("the same, an event that is stored first (a rename; the control stores one row)", durable, 3),
    ];
  } finally {
    await stopAll([colloquy, control]);
  }
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
    // Create the sessions first, so that only the streams are measured.
    preparation: sessions
      .slice(0, FOLLOWED)
      .map((id, stream) => postRequest(`/api/chat?message=follow+${stream}`, id)),
    live: (stream, mark) => postRequest(`/?stream=${stream}&mark=${mark}`, sessions[stream] ?? ""),
    durable: (stream, mark) => {
      const id = sessions[stream] ?? "";
      return jsonRequest("PATCH", `/api/sessions/${id}`, id, JSON.stringify({ title: mark }));
    },
  };
}

/**
 * Opens all streams of a server from a separate client process: two servers' streams would need too many
 * sockets in one.
 */
async function openAll({ server, streams, preparation, live, durable }: Subject): Promise<Opened> {
  const client = new RoleProcess<ClientHandlers>("client", null);
  const [port, triggerPort] = [await server.ask("port"), await server.ask("triggerPort")];
  await client.ask("fetch", { port, requests: preparation });
  // The first hundred are a warm-up and not counted.
  await client.ask("openStreams", { name: "warm", port, requests: streams.slice(0, 100) });
  await client.ask("closeStreams", { name: "warm" });
  const before = await server.ask("memory");
  await client.ask("openStreams", { name: "all", port, requests: streams });
  const after = await server.ask("memory");
  return {
    bytesEach: (after - before) / streams.length,
    measure: (kind, round) => {
      const [at, among, write] =
        kind === "live"
          ? ([triggerPort, FOLLOWED, live] as const)
          : ([port, streams.length, durable] as const);
      const triggers = triggersOf(among, `${kind}-${round}`, write);
      return client.ask("measureStreams", { name: "all", port: at, triggers });
    },
    stop: () => stopAll([client, server]),
  };
}

/** Returns triggers for streams far apart, each with its own mark. */
function triggersOf(among: number, name: string, write: WriteTrigger): Trigger[] {
  return Array.from({ length: EVENTS_A_ROUND }, (_, index) => {
    const stream = (index * 7919) % among;
    const mark = `mark-${name}-${index}-end`;
    return { stream, request: write(stream, mark), mark };
  });
}
