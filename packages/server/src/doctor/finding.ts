// What an examination says of one thing.

import { refuseNewerSchema, type SchemaState } from "../store/migrations.ts";

/** `skipped`: it could not be looked at, because of something else that is wrong, or it is not used here. */
export type Health = "ok" | "warning" | "broken" | "skipped";

export interface Finding {
  /** `configuration`, `data directory`, `database`, `clock`, `bus`, `keys`. */
  readonly about: string;
  readonly health: Health;
  /** What was found, as a sentence. */
  readonly found: string;
  /** What to do about it, `null` where nothing is wrong. */
  readonly mend: string | null;
}

export function ok(about: string, found: string): Finding {
  return { about, health: "ok", found, mend: null };
}

export function skipped(about: string, found: string): Finding {
  return { about, health: "skipped", found, mend: null };
}

export function warning(about: string, found: string, mend: string): Finding {
  return { about, health: "warning", found, mend };
}

export function broken(about: string, found: string, mend: string): Finding {
  return { about, health: "broken", found, mend };
}

/** As `broken`, with what was thrown behind a sentence that it may not be. */
export function failed(about: string, what: string, error: unknown, mend: string): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  return broken(about, `${what}: ${reason}`, mend);
}

/** What is wrong with a database's tables, and what is right about them. */
export function schemaFinding(place: string, { schemaVersion, migrations }: SchemaState): Finding {
  const newest = migrations.at(-1)?.version ?? 0;
  try {
    refuseNewerSchema(schemaVersion, migrations);
  } catch (error) {
    const [what = "", ...mend] = (error instanceof Error ? error.message : String(error)).split(/(?<=\.) /);
    return broken("database", `${place}: ${what}`, mend.join(" "));
  }
  if (schemaVersion === 0) return ok("database", `${place} is empty: the first start makes the tables.`);
  const next =
    schemaVersion < newest
      ? `schema version ${schemaVersion}; the next start brings it to ${newest}`
      : `schema version ${schemaVersion}`;
  return ok("database", `${place}: ${next}.`);
}
