// Programs of the machine that some tests need and npm does not provide.

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Folders of administrators' programs, which are not on other users' paths. */
const FOR_ADMINISTRATORS = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
/** Debian's wrappers for these remain when PostgreSQL itself is removed. */
const WRAPPED = ["psql", "pg_isready", "pg_dump"];

/** Returns true if the tests should do without a program that may be installed (scripts/without-programs). */
export function isHidden(name: string): boolean {
  return (process.env["COLLOQUY_TEST_WITHOUT"] ?? "").split(" ").includes(name);
}

/** Returns the path of an executable, `null` if there is none. */
export async function findProgram(name: string): Promise<string | null> {
  if (isHidden(name)) return null;
  for (const folder of [...(process.env["PATH"] ?? "").split(delimiter), ...FOR_ADMINISTRATORS]) {
    const path = join(folder, name);
    if (await canStart(path, name)) return path;
  }
  return null;
}

async function canStart(path: string, name: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    if (WRAPPED.includes(name)) await run(path, ["--version"]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns true if one of the programs is missing: the tests that need it are skipped and listed at the end of
 * the run.
 */
export async function isWithout(...names: readonly string[]): Promise<boolean> {
  const paths = await Promise.all(names.map(findProgram));
  return paths.includes(null);
}
