// Describes the schema of a database for operators. Changes nothing, and works on an empty database.

import { readMigrations, type SchemaState } from "./migrations.ts";
import { countByKey } from "./secrets.ts";
import { prepare, type Work } from "./shared.ts";
import { hasTable } from "./table-rows.ts";

export interface Inspection extends SchemaState {
  /** Number of sealed secrets by the id of their master key. */
  readonly secretsByKey: Readonly<Record<string, number>>;
}

const newest = prepare<[], { readonly version: number | null }>(
  "SELECT max(version) AS version FROM schema_migrations",
);

/** `migrations` is the folder with the migrations of the database. */
export function* inspect(migrations: string): Work<Inspection> {
  const schema = (yield* hasTable("schema_migrations")) ? yield* newest.get() : undefined;
  return {
    schemaVersion: schema?.version ?? 0,
    migrations: readMigrations(migrations),
    secretsByKey: (yield* hasTable("secrets")) ? yield* countByKey() : {},
  };
}
