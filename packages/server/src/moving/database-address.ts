// Parses database addresses of the command line and opens the matching adapter.

import { realpath } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { TableAccess, TableStore } from "@colloquy/engine/internal/core/ports/driven/table-store";
import { sqlite } from "@colloquy/engine/internal/store/sqlite/plugin";
import postgres from "@colloquy/postgres";

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
  const identityOf = (url: string) => postgres.nodes?.identity({ url });
  return (await identityOf(one.url)) === (await identityOf(other.url));
}

/** Runs `work` with the database open, then closes it. `at` is the current time in milliseconds since the Unix epoch. */
export function withTables<Result>(
  address: DatabaseAddress,
  options: { readonly access: TableAccess; readonly at: number },
  work: (store: TableStore) => Promise<Result>,
): Promise<Result> {
  return address.kind === "sqlite"
    ? withTablesOf(sqlite, {}, { ...options, directory: address.directory }, work)
    : withTablesOf(postgres, { url: address.url }, { ...options, directory: "" }, work);
}

/** Runs `work` on the tables of a backend. Rejects with a user-facing Error if the backend offers none. */
export async function withTablesOf<Settings, Result>(
  { name, withTables: run }: { readonly name: string; readonly withTables?: TablesOf<Settings> },
  settings: Settings,
  context: { readonly directory: string; readonly access: TableAccess; readonly at: number },
  work: (store: TableStore) => Promise<Result>,
): Promise<Result> {
  if (run === undefined)
    throw new Error(
      `The backend "${name}" does not offer its tables. Its conversations cannot be exported, imported or migrated.`,
    );
  return await run(settings, context, work);
}

type TablesOf<Settings> = <Result>(
  settings: Settings,
  context: { readonly directory: string; readonly access: TableAccess; readonly at: number },
  work: (store: TableStore) => Promise<Result>,
) => Promise<Result>;
