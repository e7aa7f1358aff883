// Maximum throughput: each connection sends its next request once the last one is answered.

import { LoadConnection } from "./connection.ts";
import { requestsOf, type RequestPlan } from "./requests.ts";

export interface ClosedLoop {
  readonly port: number;
  readonly connections: number;
  readonly plan: RequestPlan;
  /** Not counted. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
  /** Ends early after this many answers, including warm-up. */
  readonly atMost?: number;
}

export interface LoopResult {
  /** Answers within the measured time. */
  readonly answers: number;
  readonly perSecond: number;
  /** Milliseconds from the request to the complete answer. */
  readonly latencies: readonly number[];
  /** Total bytes of the bodies. */
  readonly bodyBytes: number;
  /** Number of answers per status, including warm-up. */
  readonly statuses: Readonly<Record<string, number>>;
}

export async function runClosedLoop(loop: ClosedLoop): Promise<LoopResult> {
  const connections = await Promise.all(
    Array.from({ length: loop.connections }, () => LoadConnection.open(loop.port)),
  );
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  let [bodyBytes, answered] = [0, 0];
  const from = performance.now() + loop.warmUpMs;
  const to = from + loop.measuredMs;
  const atMost = loop.atMost ?? Number.POSITIVE_INFINITY;
  let last = from;
  const work = (connection: LoadConnection) =>
    new Promise<void>((resolve) => {
      const next = requestsOf(loop.plan);
      const ask = () => {
        const asked = performance.now();
        connection.send(next(), () => {
          const now = performance.now();
          answered += 1;
          statuses[connection.status] = (statuses[connection.status] ?? 0) + 1;
          if (now >= from && now < to) {
            latencies.push(now - asked);
            bodyBytes += connection.length;
            last = now;
          }
          if (now < to && answered < atMost) ask();
          else resolve();
        });
      };
      ask();
    });
  await Promise.all(connections.map(work));
  for (const connection of connections) connection.close();
  const seconds = ((answered >= atMost ? last : to) - from) / 1000;
  return { answers: latencies.length, perSecond: latencies.length / seconds, latencies, bodyBytes, statuses };
}
