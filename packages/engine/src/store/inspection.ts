// Describes the schema of a database for operators. Changes nothing, and works on an empty database.

import { type Finding, ok, refused } from "../core/finding.ts";
import { readMigrations, refuseNewerSchema, type SchemaState } from "./migrations.ts";
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

/** Describes the schema version of a database. */
export function schemaFinding(place: string, { schemaVersion, migrations }: SchemaState): Finding {
  const newest = migrations.at(-1)?.version ?? 0;
  try {
    refuseNewerSchema(schemaVersion, migrations);
  } catch (error) {
    const finding = refused("database", error);
    return { ...finding, found: `${place}: ${finding.found}` };
  }
  if (schemaVersion === 0) return ok("database", `${place} is empty: the first start creates the tables.`);
  const next =
    schemaVersion < newest
      ? `schema version ${schemaVersion}; the next start migrates it to ${newest}`
      : `schema version ${schemaVersion}`;
  return ok("database", `${place}: ${next}.`);
}
