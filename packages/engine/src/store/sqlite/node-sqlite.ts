// Loads Node's SQLite at run time. A static import would make an older Node fail with an unhelpful module
// error, before any of our code runs.

import { createRequire } from "node:module";
import type * as NodeSqlite from "node:sqlite";

/** Returns Node's SQLite. Throws an Error that names the required version if Node does not include it. */
export function loadSqlite(load: (name: string) => unknown): typeof NodeSqlite {
  try {
    return load("node:sqlite") as typeof NodeSqlite;
  } catch (cause) {
    throw new Error("Colloquy needs Node 24 or later, and this Node is older.", { cause });
  }
}

export const { DatabaseSync } = loadSqlite(createRequire(import.meta.url));
export type DatabaseSync = NodeSqlite.DatabaseSync;
