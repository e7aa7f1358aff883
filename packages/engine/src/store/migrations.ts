// Numbered `.sql` files. In all adapters, the same number has the same meaning.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export interface SchemaState {
  /** Newest applied migration, 0 for none. */
  readonly schemaVersion: number;
  readonly migrations: readonly Migration[];
}

/** Reads the numbered `.sql` files of a folder, in order. Throws if a number is missing or used twice. */
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

/** Schema version of a database into which data is being moved: servers of any version refuse to start on it. */
export const UNFINISHED_MOVE = 1_000_000;

/**
 * Throws with a user-facing message if the schema `version` is more than one version newer than the newest
 * migration here. One version ahead works, because migrations expand first and contract a version later.
 */
export function refuseNewerSchema(version: number, migrations: readonly Migration[]): void {
  const newestKnown = migrations.at(-1)?.version ?? 0;
  if (version === UNFINISHED_MOVE) {
    throw new Error(
      "A move of data into this database is not finished. Run the same colloquy migrate again to resume it.",
    );
  }
  if (version <= newestKnown + 1) return;
  throw new Error(
    `The database has schema version ${version}, but this version of Colloquy knows versions up to ${newestKnown}. ` +
      "Start a newer Colloquy on it, or restore a backup from before the upgrade.",
  );
}
