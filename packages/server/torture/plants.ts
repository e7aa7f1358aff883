// Plants faults to show that the torture detects them. Faults exist only here and in a temporary copy of the
// sources: a plant replaces texts of the copy, and fails if a text is not found.

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";

export interface Replacement {
  /** Relative to `packages`. */
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
    const packages = join(copy, "packages");
    // The links in node_modules lead to the original packages.
    const names = readdirSync(packages);
    for (const name of names) {
      const scope = join(packages, name, "node_modules", "@colloquy");
      mkdirSync(scope, { recursive: true });
      for (const other of names) symlinkSync(join(packages, other), join(scope, other));
    }
    for (const replacement of plant.replacements) {
      const file = join(packages, replacement.file);
      writeFileSync(file, replaceOnce(readFileSync(file, "utf8"), replacement));
    }
    return await use(join(packages, "server", "src", "main.ts"));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
