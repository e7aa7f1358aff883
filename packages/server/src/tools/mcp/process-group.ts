// Signals to a process and all that it has started. The one file beside main.ts that knows `process` (docs/adr/0009): Node can
// signal a group in no other way.

import ownProcess from "node:process";

/** Signals the group that `pid` leads; answers whether there was anybody to hear it. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return ownProcess.kill(-pid, signal);
  } catch {
    // Nobody is left, or what is left belongs to somebody else.
    return false;
  }
}

/**
 * Has the group ended when this process ends, however: a second signal, a defect, `process.exit` anywhere. Answers what takes that back,
 * to be called when the group is gone, because its number may then be another's.
 */
export function killGroupAtExit(pid: number): () => void {
  const onExit = (): void => void signalGroup(pid, "SIGKILL");
  // As many as there are servers: that is no leak.
  ownProcess.setMaxListeners(ownProcess.getMaxListeners() + 1);
  ownProcess.once("exit", onExit);
  let isTakenBack = false;
  return () => {
    if (isTakenBack) return;
    isTakenBack = true;
    ownProcess.off("exit", onExit);
    ownProcess.setMaxListeners(ownProcess.getMaxListeners() - 1);
  };
}
