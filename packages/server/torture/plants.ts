// Plants faults to show that the torture detects them. Faults exist only here and in a temporary copy of the
// sources: a plant replaces texts of the copy, and fails if a text is not found.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";

export interface Replacement {
  /** Relative to the server's `src`. */
  readonly file: string;
  /** Must occur in the file exactly once. */
  readonly text: string;
  readonly by: string;
}

export interface Plant {
  /** Description of the fault, one sentence. */
  readonly fault: string;
  readonly replacements: readonly Replacement[];
}

/** Returns the text with the replacement. Throws if `text` does not occur exactly once. */
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
 * Copies the packages beside a link to the installed modules, plants the fault, and calls `use` with the
 * copy's main.ts. `root` is the repository's root. Removes the copy afterwards.
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
