// Costs of a turn and of a second of streaming text for two nodes and their database. They have no target;
// docs/scaling.md uses them. Omitted if the system does not report CPU time.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import type { RelayHandlers, RelayInput } from "../controls/relay.ts";
import type { SdkHandlers, SdkReader } from "../controls/sdk.ts";
import { RoleProcess } from "../role.ts";
import { checkStatuses, type RowContext } from "../rows/row.ts";
import type { Row } from "../table.ts";
import {
  BUSES,
  until,
  untilCalls,
  withServers,
  type BenchNode,
  type BenchServers,
  type BusName,
} from "./servers.ts";

const STREAMING = 200;
/** Enough that commits combine changes of many sessions, as under the load of docs/scaling.md. */
const TURNS_AT_ONCE = 256;
/** Tick of the kernel's clock on every Linux that Node runs on. */
const TICK_MS = 10;

/** Resources used so far. */
interface Used {
  readonly at: number;
  readonly nodesMs: number;
  readonly databaseMs: number;
  readonly walBytes: number;
}

export async function measureCosts(context: RowContext): Promise<readonly Row[]> {
  if (process.platform !== "linux") return [];
  const rows: Row[] = [...(await measureSdk(context))];
  for (const bus of BUSES) rows.push(...(await measureOn(bus, context)));
  return rows;
}

/** Measures the parts of the cost that are not the service's. */
async function measureSdk({ warmUpMs, measuredMs }: RowContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const reader of ["the model alone", "the SDK's call", "streamText"] satisfies SdkReader[]) {
    const sdk = new RoleProcess<SdkHandlers>("sdk", null);
    const nodesMs = await sdk.ask("streamFor", { reader, streams: STREAMING, warmUpMs, measuredMs });
    await sdk.stop();
    rows.push(controlRow(reader, nodesMs, measuredMs));
  }
  return rows;
}

/** Measures both ends of a bare relay of the same pieces. */
async function measureRelay(
  servers: BenchServers,
  natsUrl: string,
  { warmUpMs, measuredMs }: RowContext,
): Promise<Row> {
  const start = () => servers.keep(new RoleProcess<RelayHandlers>("relay", { natsUrl } satisfies RelayInput));
  const [publisher, receiver, reader] = [start(), start(), start()];
  await reader.ask("read", { port: await receiver.ask("receive"), streams: STREAMING });
  await publisher.ask("publish", { streams: STREAMING });
  await sleep(warmUpMs);
  const used = async () => sum(await Promise.all([publisher, receiver].map((end) => end.ask("processorMs"))));
  const before = await used();
  await sleep(measuredMs);
  const nodesMs = (await used()) - before;
  await Promise.all([publisher, receiver, reader].map((end) => end.stop()));
  return controlRow("a bare relay over NATS to a socket", nodesMs, measuredMs);
}

function controlRow(name: string, nodesMs: number, measuredMs: number): Row {
  const seconds = (STREAMING * measuredMs) / 1000;
  return {
    name: `cost of a second of streaming text (20 deltas), ${name}`,
    colloquy: "–",
    control: `${((nodesMs * 1000) / seconds).toFixed(0)} µs of processor`,
    ratio: `at ${STREAMING} seconds of text/s`,
    target: "none",
    met: true,
  };
}

function measureOn(bus: BusName, context: RowContext): Promise<readonly Row[]> {
  return withServers(bus, async (servers) => {
    const { natsUrl } = servers;
    const relayed = natsUrl === null ? [] : [await measureRelay(servers, natsUrl, context)];
    const database = await servers.postgres.createDatabase();
    const nodes = await servers.startNodes(context, database, 2);
    const use = () => usedBy(servers, database, nodes);
    const ids = await beginStreaming(context, nodes);
    const streamed = await over(context, use);
    await readAcross(context, nodes, ids);
    const read = await over(context, use);
    await endStreaming(context, nodes, ids);
    // Last, because the search index reads its messages afterwards.
    const turns = await runTurns(context, nodes, use);
    const unread = () => countOf(servers, database, "SELECT count(*) FROM search_jobs");
    const messages = await unread();
    const indexed = await during(use, async () => {
      await until("all messages are indexed", async () => ((await unread()) === 0 ? true : null));
    });
    const seconds = (STREAMING * context.measuredMs) / 1000;
    return [
      ...relayed,
      costRow(
        `a whole turn of ten deltas, ${TURNS_AT_ONCE} at once, two nodes, ${bus}`,
        turns.used,
        turns.count,
        "turns",
      ),
      costRow(
        `a second of streaming text (20 deltas) without a subscriber, ${bus}`,
        streamed,
        seconds,
        "seconds of text",
      ),
      costRow(
        `a second of streaming text (20 deltas) with a subscriber on the other node, ${bus}`,
        read,
        seconds,
        "seconds of text",
      ),
      costRow(
        `the search index of a message of ten words, ${bus}`,
        indexed,
        Math.max(1, messages),
        "messages",
      ),
    ];
  });
}

function costRow(name: string, used: Used, count: number, unit: string): Row {
  const micros = (ms: number) => `${((ms * 1000) / count).toFixed(0)} µs`;
  return {
    name: `cost of ${name}`,
    colloquy: `nodes ${micros(used.nodesMs)}, database ${micros(used.databaseMs)} of processor; ${(used.walBytes / count / 1024).toFixed(1)} KB of WAL`,
    control: "–",
    ratio: `at ${((count * 1000) / used.at).toFixed(0)} ${unit}/s`,
    target: "none",
    met: true,
  };
}

async function runTurns(context: RowContext, nodes: readonly BenchNode[], use: () => Promise<Used>) {
  const { client, warmUpMs, measuredMs } = context;
  const plan = {
    kind: "chat",
    messagesPerSession: 10,
    prefer: "wait=60",
    text: "say+ten+small+pieces",
  } as const;
  const run = async (ms: number): Promise<number> => {
    const results = await Promise.all(
      nodes.map(async (node) => {
        const port = await node.ask("port");
        const connections = TURNS_AT_ONCE / nodes.length;
        return await client.ask("closedLoop", { port, connections, plan, warmUpMs: 0, measuredMs: ms });
      }),
    );
    for (const result of results) checkStatuses(result);
    return results.reduce((sum, { answers }) => sum + answers, 0);
  };
  await run(4 * warmUpMs);
  let count = 0;
  const used = await during(use, async () => {
    count = await run(measuredMs);
  });
  return { used, count };
}

/** Streams from models on both nodes until the nodes end. */
async function beginStreaming(
  { client }: RowContext,
  nodes: readonly BenchNode[],
): Promise<readonly string[]> {
  const ids = Array.from({ length: STREAMING }, randomSessionId);
  for (const [place, node] of nodes.entries()) {
    const own = ids.filter((_id, index) => index % nodes.length === place);
    const requests = own.map((id) => postRequest("/api/chat?message=stream+text", id));
    await client.ask("fetch", { port: await node.ask("port"), requests });
    // One more, so that all before it have started.
    await client.ask("fetch", {
      port: await node.ask("port"),
      requests: [postRequest("/api/chat?message=follow+last", randomSessionId())],
    });
    await untilCalls(node, ["last"]);
  }
  return ids;
}

async function endStreaming({ client }: RowContext, nodes: readonly BenchNode[], ids: readonly string[]) {
  const requests = ids.map((id) => postRequest("/api/interrupt", id));
  for (const node of nodes) await client.ask("fetch", { port: await node.ask("port"), requests });
}

async function countOf({ postgres }: BenchServers, database: string, query: string): Promise<number> {
  const [row] = await postgres.query(database, query);
  return Number(row?.["count"]);
}

async function readAcross({ client }: RowContext, nodes: readonly BenchNode[], ids: readonly string[]) {
  for (const [place, node] of nodes.entries()) {
    const others = ids.filter((_id, index) => index % nodes.length !== place);
    const requests = others.map((id) =>
      getRequest("/api/updates?include=messages", id, "Accept: text/event-stream\r\n"),
    );
    await client.ask("openStreams", { name: `costs-${place}`, port: await node.ask("port"), requests });
  }
}

async function over({ measuredMs }: RowContext, use: () => Promise<Used>): Promise<Used> {
  return await during(use, () => sleep(measuredMs));
}

async function during(use: () => Promise<Used>, work: () => Promise<void>): Promise<Used> {
  const before = await use();
  await work();
  const after = await use();
  return {
    at: after.at - before.at,
    nodesMs: after.nodesMs - before.nodesMs,
    databaseMs: after.databaseMs - before.databaseMs,
    walBytes: after.walBytes - before.walBytes,
  };
}

async function usedBy(
  { postgres }: BenchServers,
  database: string,
  nodes: readonly BenchNode[],
): Promise<Used> {
  const processes = await postgres.query(
    database,
    "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
  );
  const [wal] = await postgres.query(database, "SELECT pg_current_wal_lsn() - '0/0' AS bytes");
  const each = await Promise.all(nodes.map((node) => node.ask("processorMs")));
  return {
    at: performance.now(),
    nodesMs: sum(each),
    databaseMs: serverMs(processes.map(({ pid }) => Number(pid))),
    walBytes: Number(wal?.["bytes"]),
  };
}

/** CPU milliseconds of these server processes, their parent, and its ended children. */
function serverMs(processes: readonly number[]): number {
  const stats = processes.flatMap((process) => statOf(process) ?? []);
  const parent = statOf(stats[0]?.parent ?? 0);
  return sum(stats.map(({ ownMs }) => ownMs)) + (parent === null ? 0 : parent.ownMs + parent.endedMs);
}

/** Reads a process's statistics, `null` if it has ended. */
function statOf(process: number) {
  try {
    const text = readFileSync(`/proc/${process}/stat`, "utf8");
    // After the name, which may contain anything: state, parent, and so on (proc_pid_stat(5), which counts
    // from 1 and two more).
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = (first: number): number => Number(fields[first]) + Number(fields[first + 1]);
    return { parent: Number(fields[1]), ownMs: ticks(11) * TICK_MS, endedMs: ticks(13) * TICK_MS };
  } catch {
    return null;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
