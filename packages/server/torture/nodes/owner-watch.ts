// Checks that an owner stops by its own clock when it cannot reach the database: asks the process itself,
// because nothing that it writes would arrive.

import { createHttpClient } from "../harness/http-request.ts";
import type { Violations } from "../violations.ts";

export interface WatchedNode {
  readonly name: string;
  /** The process's own port, bypassing faulty links. */
  readonly ownPort: number;
  /** Since when requests to the database fail at once; `null` if they do not. Monotonic, in milliseconds. */
  readonly cutOffSince: number | null;
}

/** Lease time: a lease renewed at the last moment has expired after this many milliseconds. */
export const LEASE_MS = 10_000;
const ANSWER_MS = 2_000;

/** Adds a violation for each node that still runs turns although all its leases must have expired. */
export async function checkOwners(nodes: readonly WatchedNode[], violations: Violations): Promise<void> {
  const now = performance.now();
  for (const { name, ownPort, cutOffSince } of nodes) {
    if (cutOffSince === null || now - cutOffSince < LEASE_MS) continue;
    const running = await turnsRunningAt(ownPort);
    if (running === null || running === 0) continue;
    const seconds = ((now - cutOffSince) / 1000).toFixed(1);
    violations.add("ran on", name, "its turns", `${running} run, ${seconds} s after it lost the database`);
  }
}

/** Returns `null` if there is no answer: it may be starting. */
async function turnsRunningAt(port: number): Promise<number | null> {
  const client = createHttpClient(port);
  try {
    const { body } = await client.request("/metrics", { timeoutMs: ANSWER_MS });
    return readRunning(body);
  } catch {
    return null;
  } finally {
    client.close();
  }
}

/** Returns the number of running turns from the metrics. */
function readRunning(metrics: string): number | null {
  const value = /^colloquy_turns_running (\d+)$/m.exec(metrics)?.[1];
  return value === undefined ? null : Number(value);
}
