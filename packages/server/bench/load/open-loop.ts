// Requests at a fixed rate, whether or not the server keeps up. The latency counts from when a request was
// due, including the wait for a free connection (no coordinated omission).

import { LoadConnection } from "./connection.ts";
import { requestsOf, type RequestPlan } from "./requests.ts";

export interface OfferedLoad {
  readonly name: string;
  readonly port: number;
  readonly plan: RequestPlan;
  readonly perSecond: number;
}

export interface OpenLoop {
  readonly loads: readonly OfferedLoad[];
  /** Connections per load. */
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

export interface OfferedResult {
  readonly name: string;
  /** Milliseconds from when each request was due to its complete answer. */
  readonly latencies: readonly number[];
  readonly statuses: Readonly<Record<string, number>>;
}

export async function runOpenLoop(loop: OpenLoop): Promise<OfferedResult[]> {
  const started = performance.now() + 50;
  return await Promise.all(loop.loads.map((load) => offer(load, loop, started)));
}

async function offer(load: OfferedLoad, loop: OpenLoop, started: number): Promise<OfferedResult> {
  const free = await Promise.all(
    Array.from({ length: loop.connections }, () => LoadConnection.open(load.port)),
  );
  const all = [...free];
  const plans = new Map(all.map((connection) => [connection, requestsOf(load.plan)]));
  const counted = started + loop.warmUpMs;
  const end = counted + loop.measuredMs;
  const interval = 1000 / load.perSecond;
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  const waiting: number[] = [];
  let [due, open] = [started, 0];

  const { promise: done, resolve } = Promise.withResolvers<void>();
  const send = (connection: LoadConnection, dueAt: number) => {
    open += 1;
    connection.send(plans.get(connection)?.() ?? "", () => {
      open -= 1;
      if (dueAt >= counted) latencies.push(performance.now() - dueAt);
      statuses[connection.status] = (statuses[connection.status] ?? 0) + 1;
      const next = waiting.shift();
      if (next !== undefined) send(connection, next);
      else free.push(connection);
      if (open === 0 && due >= end) resolve();
    });
  };
  const timer = setInterval(() => {
    for (const now = performance.now(); due <= now && due < end; due += interval) {
      const connection = free.pop();
      if (connection === undefined) waiting.push(due);
      else send(connection, due);
    }
    if (due < end) return;
    clearInterval(timer);
    if (open === 0) resolve();
  }, 1);
  await done;
  for (const connection of all) connection.close();
  return { name: load.name, latencies, statuses };
}
