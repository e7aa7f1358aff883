// Numbered `.sql` files, which every adapter has with the same numbers and the same meaning.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** How far a database has come, and how far this version of the program can bring it. */
export interface SchemaState {
  /** Number of the newest migration that the database has seen, 0 for none. */
  readonly schemaVersion: number;
  readonly migrations: readonly Migration[];
}

/** The numbered `.sql` files of a folder, in order. Throws when a number is missing or used twice. */
export function readMigrations(folder: string): readonly Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
  return files.map((file, index) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]);
    if (version !== index + 1) throw new Error(`${join(folder, file)} should begin with number ${index + 1}`);
    return { version, name: file, sql: readFileSync(join(folder, file), "utf8") };
  });
}

/** Stands among the versions of a database into which data is being moved: every server, of whatever version, refuses to start on it. */
export const UNFINISHED_MOVE = 1_000_000;

/**
 * Throws, with a sentence for the person who started the process, when a database with schema version `found` is more than one version newer
 * than the newest migration here: one version ahead can be worked with, because migrations expand first and contract a version later.
 */
export function refuseNewerSchema(found: number, migrations: readonly Migration[]): void {
  const newestKnown = migrations.at(-1)?.version ?? 0;
  if (found === UNFINISHED_MOVE) {
    throw new Error(
      "Data is being moved into this database, and that is not finished. Run the same colloquy migrate again, which goes on where it was.",
    );
  }
  if (found <= newestKnown + 1) return;
  throw new Error(
    `The database has schema version ${found}, but this version of Colloquy knows versions up to ${newestKnown}. ` +
      "Start a newer Colloquy on it, or restore a backup from before the upgrade.",
  );
}
