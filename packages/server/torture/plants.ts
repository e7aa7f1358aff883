// Faults that are planted to show that the torture finds them. They live here and in a temporary copy of the sources, never in
// the server: a plant replaces texts of a copy, and says so loudly when a text is no longer there.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";

export interface Replacement {
  /** From the server's `src`. */
  readonly file: string;
  /** Must stand in the file exactly once. */
  readonly text: string;
  readonly by: string;
}

export interface Plant {
  /** What the fault is, in a sentence. */
  readonly fault: string;
  readonly replacements: readonly Replacement[];
}

/** The text with the replacement made. Throws when the text is not there exactly once. */
export function replaceOnce(source: string, { file, text, by }: Replacement): string {
  const found = source.split(text).length - 1;
  if (found !== 1) {
    throw new Error(
      `${file} has this text ${found} times, not once; adapt the plant to the source:\n${text}`,
    );
  }
  return source.replace(text, () => by);
}

/**
 * Copies the packages beside a link to the installed modules, plants the fault, and calls `use` with the copy's main.ts.
 * `root` is the repository's root. The copy is removed afterwards.
 */
export async function withPlanted<Result>(
  root: string,
  plant: Plant,
  use: (main: string) => Promise<Result>,
): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), "colloquy-planted-"));
  try {
    cpSync(join(root, "packages"), join(copy, "packages"), {
      recursive: true,
      filter: (path) => !path.split(sep).includes("node_modules"),
    });
    cpSync(join(root, "package.json"), join(copy, "package.json"));
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    const sources = join(copy, "packages", "server", "src");
    for (const replacement of plant.replacements) {
      const file = join(sources, replacement.file);
      writeFileSync(file, replaceOnce(readFileSync(file, "utf8"), replacement));
    }
    return await use(join(sources, "main.ts"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
