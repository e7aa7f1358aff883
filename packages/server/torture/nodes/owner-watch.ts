// Checks that an owner stops by its own clock when it cannot reach the database: asks the process itself,
// because nothing that it writes would arrive.

import { setTimeout as sleep } from "node:timers/promises";
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
const SETTLE_MS = 1_000;

/** Adds a violation for each node that still runs turns although all its leases must have expired. */
export async function checkOwners(nodes: readonly WatchedNode[], violations: Violations): Promise<void> {
  const now = performance.now();
  for (const node of nodes) {
    const { name, ownPort, cutOffSince } = node;
    if (cutOffSince === null || now - cutOffSince < LEASE_MS) continue;
    const running = await turnsRunningAt(ownPort);
    if (running === null || running === 0) continue;
    // A turn that was just told to stop needs a moment, and the fault may have ended.
    await sleep(SETTLE_MS);
    const still = await turnsRunningAt(ownPort);
    if (still === null || still === 0 || node.cutOffSince !== cutOffSince) continue;
    const seconds = ((now - cutOffSince) / 1000).toFixed(1);
    violations.add("ran on", name, "its turns", `${still} run, ${seconds} s after it lost the database`);
  }
}

/** Returns `null` if there is no answer: it may be starting. */
async function turnsRunningAt(port: number): Promise<number | null> {
  const client = createHttpClient(port);
  const answer = await client.request("/metrics", { timeoutMs: ANSWER_MS }).catch(() => null);
  client.close();
  return answer === null ? null : readRunning(answer.body);
}

/** Returns the number of running turns from the metrics. Throws if it is missing: nothing would be checked. */
function readRunning(metrics: string): number {
  const value = /^colloquy_turns_running (\d+)$/m.exec(metrics)?.[1];
  if (value === undefined) throw new Error("/metrics has no colloquy_turns_running");
  return Number(value);
}
