// Parses database addresses of the command line and opens the matching adapter.

import { realpath } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { TableAccess, TableStore } from "../core/ports/driven/table-store.ts";
import { databaseIdentity } from "../store/postgres/inspection.ts";
import { refusingToStart } from "../store/postgres/server-check.ts";
import { withPostgresTables } from "../store/postgres/tables.ts";
import { withSqliteTables } from "../store/sqlite/tables.ts";

export type DatabaseAddress =
  /** Absolute path of a data directory. */
  | { readonly kind: "sqlite"; readonly directory: string }
  /** Contains user and password; never print it. */
  | { readonly kind: "postgres"; readonly url: string };

/** Parses `sqlite:PATH` (a data directory or the database in it) or `postgres://…`. Returns a problem for anything else. */
export function parseDatabaseAddress(
  text: string,
): { readonly address: DatabaseAddress } | { readonly problem: string } {
  const path = /^sqlite:(?:\/\/)?(?<path>.+)$/s.exec(text)?.groups?.["path"];
  if (path !== undefined) {
    const directory = resolve(basename(path) === "colloquy.db" ? dirname(path) : path);
    return { address: { kind: "sqlite", directory } };
  }
  if (/^postgres(?:ql)?:\/\/./.test(text) && URL.canParse(text)) {
    return { address: { kind: "postgres", url: text } };
  }
  return {
    problem:
      "It must be sqlite:PATH with the path of a data directory, or postgres://user:password@host:port/database.",
  };
}

/** Returns true if both are the same database, even under different paths or URLs. */
export async function isSameDatabase(one: DatabaseAddress, other: DatabaseAddress): Promise<boolean> {
  if (one.kind === "sqlite" && other.kind === "sqlite") {
    // A directory that does not exist yet has no real path.
    const real = (path: string): Promise<string> => realpath(path).catch(() => path);
    return (await real(one.directory)) === (await real(other.directory));
  }
  if (one.kind === "sqlite" || other.kind === "sqlite") return false;
  return await refusingToStart(
    async () => (await databaseIdentity(one.url)) === (await databaseIdentity(other.url)),
  );
}

/** Runs `work` with the database open, then closes it. `at` is the current time in milliseconds since the Unix epoch. */
export function withTables<Result>(
  address: DatabaseAddress,
  { access, at }: { readonly access: TableAccess; readonly at: number },
  work: (store: TableStore) => Promise<Result>,
): Promise<Result> {
  return address.kind === "sqlite"
    ? withSqliteTables({ directory: address.directory, access, at }, work)
    : refusingToStart(() => withPostgresTables({ url: address.url, access }, work));
}
