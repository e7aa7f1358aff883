// Whether an owner stops by its own clock when it cannot reach the database (issue "Many machines", One owner): asked of the process itself,
// because nothing that it writes would arrive.

import { createHttpClient } from "../harness/http-request.ts";
import type { Violations } from "../violations.ts";

export interface WatchedNode {
  readonly name: string;
  /** Where the process listens, past whatever is done to its links. */
  readonly ownPort: number;
  /** Since when all that it asks of the database fails at once; `null` while it does not. On the monotonic clock, in milliseconds. */
  readonly cutOffSince: number | null;
}

/** A lease that was renewed at the last moment has run out after so long; in milliseconds. */
export const LEASE_MS = 10_000;
const ANSWER_MS = 2_000;

/** Adds a violation for each node that still runs turns although none of its leases can be left. */
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

/** `null` when it does not say: it may be starting. */
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

/** The number of turns that run, as the metrics have it. */
function readRunning(metrics: string): number | null {
  const value = /^colloquy_turns_running (\d+)$/m.exec(metrics)?.[1];
  return value === undefined ? null : Number(value);
}
