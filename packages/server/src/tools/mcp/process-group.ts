// Signals to a process group. The only file besides main.ts that uses `process` (docs/adr/0009): Node has no
// other way to signal a group.

import ownProcess from "node:process";

/** Signals the group that `pid` leads; returns false if no process received the signal. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return ownProcess.kill(-pid, signal);
  } catch {
    // The group is gone, or its id belongs to another user by now.
    return false;
  }
}

/**
 * Kills the group when this process exits for any reason: a second signal, a crash, `process.exit`. Returns a
 * function that cancels this; call it when the group is gone, because its id may be reused.
 */
export function killGroupAtExit(pid: number): () => void {
  const onExit = (): void => void signalGroup(pid, "SIGKILL");
  // One listener per server is intended, not a leak.
  ownProcess.setMaxListeners(ownProcess.getMaxListeners() + 1);
  ownProcess.once("exit", onExit);
  let isCancelled = false;
  return () => {
    if (isCancelled) return;
    isCancelled = true;
    ownProcess.off("exit", onExit);
    ownProcess.setMaxListeners(ownProcess.getMaxListeners() - 1);
  };
}
