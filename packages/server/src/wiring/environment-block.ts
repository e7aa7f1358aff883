// The memory block in which a process receives its environment. Linux shows it in /proc/<pid>/environ to every program of the same user,
// also to MCP servers that the service started, even after variables were changed.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Fields `env_start` and `env_end` of /proc/self/stat (proc(5)), counted from 0 after the program name. */
const ENV_START = 47;
const ENV_END = 48;

/**
 * Moves the variables of this process's `environment` to other memory, and overwrites the original block. Variables are read and inherited
 * as before. Returns false if the block is still readable. Must be called before anything else reads variables.
 */
export function clearEnvironmentBlock(environment: NodeJS.ProcessEnv): boolean {
  // setenv(3) moves a variable even if its value stays the same.
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) environment[name] = value;
  try {
    overwriteBlock();
    return /^\0*$/.test(readFileSync("/proc/self/environ", "latin1"));
  } catch {
    // Not Linux, or /proc/self/mem is protected.
    return false;
  }
}

function overwriteBlock(): void {
  const status = readFileSync("/proc/self/stat", "latin1");
  // The name may contain anything, even parentheses.
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
