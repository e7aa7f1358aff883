// Reads what `deploy/Dockerfile` says: an instruction a line, its continuations joined, comments left out.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Of the clone: what Docker gets as its context. */
export const ROOT = join(import.meta.dirname, "../../../..");
const FILE = join(ROOT, "deploy/Dockerfile");

export interface Instruction {
  /** Such as `COPY`. */
  readonly word: string;
  readonly rest: string;
}

export function dockerfileText(): Promise<string> {
  return readFile(FILE, "utf8");
}

/** The instructions of its stages. A stage begins with its `FROM`. */
export async function readStages(): Promise<readonly (readonly Instruction[])[]> {
  const lines = (await dockerfileText()).split("\n").filter((line) => !line.startsWith("#"));
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

/** The rests of a stage's instructions of this word. */
export function restsOf(stage: readonly Instruction[], word: string): readonly string[] {
  return stage.filter((instruction) => instruction.word === word).map(({ rest }) => rest);
}

/** The words of a command in its JSON form. */
export function commandOf(rest: string): readonly string[] {
  return JSON.parse(rest.slice(rest.indexOf("["))) as string[];
}
