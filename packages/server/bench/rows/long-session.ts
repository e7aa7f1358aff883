// Polling a streaming session of 2,000 messages against one of 20: the cost must grow with the bytes only.

import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { median } from "../statistics.ts";
import { formatRounds, type Row } from "../table.ts";
import { checkStatuses, inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

const LONG = 2000;
const SHORT = 20;

export async function measureLongSession(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  try {
    const port = await colloquy.ask("port");
    const long = await makeSession(context, port, LONG);
    const short = await makeSession(context, port, SHORT);
    const unchanged = await inTurn(
      context.rounds,
      () => pollUnchanged(context, port, long),
      () => pollUnchanged(context, port, short),
    );
    for (const id of [long, short]) await ask(context, port, postRequest("/api/chat?message=stream+on", id));
    const streaming = await inTurn(
      context.rounds,
      () => pollStreaming(context, port, long),
      () => pollStreaming(context, port, short),
    );
    for (const id of [long, short]) await ask(context, port, postRequest("/api/interrupt", id));
    const perByte = streaming.map(({ colloquy: own, control }) => own.nsPerByte / control.nsPerByte);
    const spent = unchanged.map((round) => round.colloquy / round.control);
    const [own, bare] = [streaming.map((round) => round.colloquy), streaming.map((round) => round.control)];
    return [
      {
        name: `polling a session of ${LONG} messages while it streams, against one of ${SHORT}: time for each byte`,
        colloquy: describePolling(own),
        control: describePolling(bare),
        ratio: formatRounds(perByte),
        target: "at most 3",
        met: median(perByte) <= 3,
      },
      {
        name: `304 of a session of ${LONG} messages, against one of ${SHORT}`,
        colloquy: `${median(unchanged.map((round) => round.colloquy)).toFixed(1)} µs`,
        control: `${median(unchanged.map((round) => round.control)).toFixed(1)} µs`,
        ratio: formatRounds(spent),
        target: "as cheap (at most 1.1)",
        met: median(spent) <= 1.1,
      },
    ];
  } finally {
    await stopAll([colloquy]);
  }
}

interface Polling {
  readonly ms: number;
  readonly bytes: number;
  readonly nsPerByte: number;
}

async function ask(context: RowContext, port: number, request: string): Promise<string> {
  return await context.client.ask("fetch", { port, requests: [request] });
}

/** Creates a session with this many messages, half of them the assistant's. */
export async function makeSession(context: RowContext, port: number, messages: number): Promise<string> {
  const id = randomSessionId();
  const chat = postRequest("/api/chat?message=something+to+say", id).replace(
    "Content-Length",
    "Prefer: wait=10\r\nContent-Length",
  );
  await context.client.ask("fetch", { port, requests: Array.from({ length: messages / 2 }, () => chat) });
  const found = JSON.parse(await ask(context, port, getRequest("/api/state", id))) as { messages: unknown[] };
  if (found.messages.length !== messages)
    throw new Error(`The session has ${found.messages.length} messages`);
  return id;
}

/** Polls with one client as fast as it is answered. */
async function pollStreaming(context: RowContext, port: number, id: string): Promise<Polling> {
  const result = await poll(context, port, getRequest("/api/state", id), "200");
  const total = result.latencies.reduce((sum, latency) => sum + latency, 0);
  const bytes = result.bodyBytes / result.answers;
  const ms = total / result.answers;
  return { ms, bytes, nsPerByte: (ms * 1e6) / bytes };
}

/** Returns the microseconds of a 304. */
async function pollUnchanged(context: RowContext, port: number, id: string): Promise<number> {
  const { headers } = await context.client.ask("answer", { port, request: getRequest("/api/state", id) });
  const tag = headers.find(([name]) => name.toLowerCase() === "etag")?.[1] ?? "";
  const request = getRequest("/api/state", id, `If-None-Match: ${tag}\r\n`);
  return median((await poll(context, port, request, "304")).latencies) * 1000;
}

async function poll(context: RowContext, port: number, request: string, status: string) {
  const { warmUpMs, measuredMs } = context;
  const plan = { kind: "fixed", request } as const;
  const result = await context.client.ask("closedLoop", { port, connections: 1, plan, warmUpMs, measuredMs });
  checkStatuses(result, status);
  return result;
}

function describePolling(pollings: readonly Polling[]): string {
  const of = (field: keyof Polling) => median(pollings.map((polling) => polling[field]));
  return `${of("nsPerByte").toFixed(2)} ns (${of("ms").toFixed(2)} ms for ${(of("bytes") / 1024).toFixed(0)} KB)`;
}
