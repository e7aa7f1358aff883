// Signals to a process and all that it has started. The one file beside main.ts that knows `process` (docs/adr/0009): Node can
// signal a group in no other way.

import { kill } from "node:process";

/** Signals the group that `pid` leads; answers whether there was anybody to hear it. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return kill(-pid, signal);
  } catch {
    // Nobody is left, or what is left belongs to somebody else.
    return false;
  }
}
