// The memory that the environment of a process comes in. Linux shows it in /proc/<pid>/environ to every program of the same user, an MCP
// server that the service has started among them, as long as the process lives and whatever becomes of its variables.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Fields `env_start` and `env_end` of /proc/self/stat (proc(5)), counted from 0 behind the name of the program. */
const ENV_START = 47;
const ENV_END = 48;

/**
 * Moves the variables of `environment`, which is the environment of this process, to memory of their own, and overwrites the
 * block that they came in. Nothing else changes: they are read and handed to children as before. Returns false where the
 * block is still there to be read. To be called before anything else reads variables.
 */
export function clearEnvironmentBlock(environment: NodeJS.ProcessEnv): boolean {
  // A variable that is set gets a new place (setenv(3)), also where its value stays the same.
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) environment[name] = value;
  try {
    overwriteBlock();
    return /^\0*$/.test(readFileSync("/proc/self/environ", "latin1"));
  } catch {
    // No Linux, or one that protects /proc/self/mem.
    return false;
  }
}

function overwriteBlock(): void {
  const status = readFileSync("/proc/self/stat", "latin1");
  // The name may hold anything, parentheses too.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
  const [start, end] = [Number(fields[ENV_START]), Number(fields[ENV_END])];
  if (!(end > start)) return;
  const memory = openSync("/proc/self/mem", "r+");
  try {
    writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
  } finally {
    closeSync(memory);
  }
}
