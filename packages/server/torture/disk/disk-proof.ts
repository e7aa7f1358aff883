// Both durability checks of acknowledged messages, from one traced run.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../harness/random.ts";
import { cutPower, type PowerCutResult } from "./power-cut.ts";
import { findUnsynced } from "./sync-order.ts";
import { runTraced } from "./traced-run.ts";

export interface DiskProof {
  readonly messages: number;
  /** Messages acknowledged before a sync, described. */
  readonly unsynced: readonly string[];
  readonly powerCuts: PowerCutResult;
}

const MESSAGES_A_CLIENT = 20;
const POWER_CUTS = 6;

/** Returns true if strace (Linux) is installed. */
export function canTrace(): boolean {
  return spawnSync("strace", ["--version"], { stdio: "ignore" }).status === 0;
}

/**
 * Traces `main`, checks the order of its system calls, and simulates power cuts at moments chosen by `seed`.
 */
export async function proveDisk(main: string, seed: string): Promise<DiskProof> {
  const directory = mkdtempSync(join(tmpdir(), "colloquy-disk-"));
  try {
    const random = createRandom(`${seed}/disk`);
    const traced = join(directory, "traced");
    mkdirSync(traced);
    const run = await runTraced(main, traced, MESSAGES_A_CLIENT, random);
    return {
      messages: run.messages.length,
      unsynced: findUnsynced(run),
      powerCuts: await cutPower(main, run, directory, POWER_CUTS, random),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function describeDiskProof({ messages, unsynced, powerCuts }: DiskProof): string {
  const { cuts, expected, losses } = powerCuts;
  return [
    `system calls: ${messages} acknowledged, ${unsynced.length} of them before the log was synced`,
    `power cuts: ${cuts}, ${expected} acknowledged messages checked, ${losses.length} lost`,
    ...[...unsynced, ...losses].slice(0, 10),
  ].join("\n");
}
