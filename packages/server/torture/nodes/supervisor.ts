// Restarts a node that could not start, as systemd would: the database may have been unavailable. Any other
// unexpected end is a violation.

import { setTimeout as sleep } from "node:timers/promises";
import { noteCrash } from "../killer.ts";
import type { Violations } from "../violations.ts";
import type { Node } from "./cluster.ts";

/** Logged by a server that fails to start. */
const CANNOT_START = "Colloquy cannot start";
const LOOK_EVERY_MS = 500;

/** Watches until `stopping` is aborted. */
export async function supervise(
  nodes: readonly Node[],
  violations: Violations,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    for (const node of nodes) {
      if (node.server.crash === null) continue;
      if (!node.server.log.some((line) => line.includes(CANNOT_START))) noteCrash(node.server, violations);
      node.restart();
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopping }).catch(() => undefined);
  }
}
