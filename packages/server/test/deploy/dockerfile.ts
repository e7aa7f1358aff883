// Parses a Dockerfile of `deploy/`: one instruction per line, continuations joined, comments removed.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The repository: Docker's build context. */
export const ROOT = join(import.meta.dirname, "../../../..");
const FILE = join(ROOT, "deploy/Dockerfile");
/** Installs the published package in a project. */
export const OF_PROJECT = join(ROOT, "deploy/Dockerfile.project");

export interface Instruction {
  /** For example `COPY`. */
  readonly word: string;
  readonly rest: string;
}

export function dockerfileText(file = FILE): Promise<string> {
  return readFile(file, "utf8");
}

/** Returns the instructions by stage. A stage starts with its `FROM`. */
export async function readStages(file = FILE): Promise<readonly (readonly Instruction[])[]> {
  const lines = (await dockerfileText(file)).split("\n").filter((line) => !line.startsWith("#"));
  const stages: Instruction[][] = [];
  for (const line of lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")) {
    const [, word, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (word === undefined || rest === undefined) continue;
    if (word === "FROM") stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}

/** Returns the arguments of a stage's instructions with this word. */
export function restsOf(stage: readonly Instruction[], word: string): readonly string[] {
  return stage.filter((instruction) => instruction.word === word).map(({ rest }) => rest);
}

/** Returns the words of a command in JSON form. */
export function commandOf(rest: string): readonly string[] {
  return JSON.parse(rest.slice(rest.indexOf("["))) as string[];
}
