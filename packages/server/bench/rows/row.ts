// What the rows have in common: where they work, how long they measure, and how Colloquy and its control take turns.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ClientHandlers } from "../load/client.ts";
import type { LoopResult } from "../load/closed-loop.ts";
import type { ColloquyHandlers, ColloquyInput } from "../colloquy.ts";
import { RoleProcess } from "../role.ts";
import type { Row } from "../table.ts";

export interface RowContext {
  readonly client: RoleProcess<ClientHandlers>;
  /** How often Colloquy and the control are measured in turn. */
  readonly rounds: number;
  /** Milliseconds of one measurement, and of what comes before it and is not counted. */
  readonly measuredMs: number;
  readonly warmUpMs: number;
  /** A tenth of the great numbers (sessions, requests), for a first impression. */
  readonly quick: boolean;
  /** Arguments for Node of the Colloquy that is measured, such as `--cpu-prof`. */
  readonly nodeArguments: readonly string[];
  /** An empty directory of its own at each call. */
  newDirectory(): string;
}

export type MeasureRow = (context: RowContext) => Promise<readonly Row[]>;

/** Connections that the rows of the issue ask for. */
export const CONNECTIONS = 64;

/** A role that tells where it listens. */
export type Listening = { readonly port: () => number };

/** Starts Colloquy in a fresh directory. */
export function startColloquyRole(
  context: RowContext,
  limits: ColloquyInput["limits"] = {},
  directory = context.newDirectory(),
): RoleProcess<ColloquyHandlers> {
  const input: ColloquyInput = { directory, limits };
  return new RoleProcess<ColloquyHandlers>("colloquy", input, context.nodeArguments);
}

/** Measures A and B in turn, as often as the context says. */
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

/** Throws when an answer was none of the expected statuses: then nothing that was measured means anything. */
export function checkStatuses(result: Pick<LoopResult, "statuses">, expected = "200"): void {
  const wrong = Object.entries(result.statuses).filter(([status]) => status !== expected);
  if (wrong.length > 0) throw new Error(`Unexpected answers: ${JSON.stringify(result.statuses)}`);
}

/** Stops processes, whatever has happened to them. */
export async function stopAll(processes: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(processes.map((process) => process.stop()));
}

/** A function that makes empty directories below `root`. */
export function directoriesIn(root: string): () => string {
  let last = 0;
  return () => {
    last += 1;
    const directory = join(root, String(last));
    mkdirSync(directory, { recursive: true });
    return directory;
  };
}
