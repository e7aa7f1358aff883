// Helpers of all benchmark rows: directories, durations, and alternation between Colloquy and its control.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ClientHandlers } from "../load/client.ts";
import type { LoopResult } from "../load/closed-loop.ts";
import type { ColloquyHandlers, ColloquyInput } from "../colloquy.ts";
import { RoleProcess } from "../role.ts";
import type { Row } from "../table.ts";

export interface RowContext {
  readonly client: RoleProcess<ClientHandlers>;
  /** Number of alternating measurements of Colloquy and its control. */
  readonly rounds: number;
  /** Milliseconds of one measurement, and of its warm-up. */
  readonly measuredMs: number;
  readonly warmUpMs: number;
  /** Uses a tenth of large counts (sessions, requests), for a first impression. */
  readonly quick: boolean;
  /** Arguments for Colloquy's Node, such as `--cpu-prof`. */
  readonly nodeArguments: readonly string[];
  /** Returns a new empty directory. */
  newDirectory(): string;
}

export type MeasureRow = (context: RowContext) => Promise<readonly Row[]>;

/** Number of connections in most rows. */
export const CONNECTIONS = 64;

/** A process that reports its port. */
export type Listening = { readonly port: () => number };

/** Starts Colloquy; in a new directory unless one is given. */
export function startColloquyRole(
  context: RowContext,
  { directory = context.newDirectory(), ...given }: Partial<ColloquyInput> = {},
): RoleProcess<ColloquyHandlers> {
  const input: ColloquyInput = { directory, ...given };
  return new RoleProcess<ColloquyHandlers>("colloquy", input, context.nodeArguments);
}

/** Measures A and B alternately, for the context's number of rounds. */
export async function inTurn<Result>(
  rounds: number,
  colloquy: () => Promise<Result>,
  control: () => Promise<Result>,
): Promise<readonly { readonly colloquy: Result; readonly control: Result }[]> {
  const results: { colloquy: Result; control: Result }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    results.push({ colloquy: await colloquy(), control: await control() });
  }
  return results;
}

/** Throws if any answer had an unexpected status, because the measurement is then meaningless. */
export function checkStatuses(result: Pick<LoopResult, "statuses">, expected = "200"): void {
  const wrong = Object.entries(result.statuses).filter(([status]) => status !== expected);
  if (wrong.length > 0) throw new Error(`Unexpected answers: ${JSON.stringify(result.statuses)}`);
}

/** Stops processes, ignoring failures. */
export async function stopAll(processes: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(processes.map((process) => process.stop()));
}

/** Returns a function that creates empty directories below `root`. */
export function directoriesIn(root: string): () => string {
  let last = 0;
  return () => {
    last += 1;
    const directory = join(root, String(last));
    mkdirSync(directory, { recursive: true });
    return directory;
  };
}

/**
 * Returns the milliseconds of the fastest of 20 runs, because other work on the machine only makes runs
 * slower.
 */
export function fastestMs(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < 20; index += 1) {
    const started = performance.now();
    run();
    least = Math.min(least, performance.now() - started);
  }
  return least;
}
