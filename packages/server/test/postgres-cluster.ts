// Files of new PostgreSQL servers. initdb takes a second, so test files of a run share its results as copies.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SystemUser } from "./postgres-programs.ts";

const run = promisify(execFile);

/** Environment variable with the folder of shared clusters. */
const SHARED = "COLLOQUY_TEST_CLUSTERS";

/** Called by Vitest before the first test file, which inherits the environment. */
export async function setup(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-clusters-"));
  // If root runs the tests, the server runs as another user.
  await chmod(folder, 0o755);
  process.env[SHARED] = folder;
}

/** Called by Vitest after the last test file. */
export async function teardown(): Promise<void> {
  const folder = process.env[SHARED];
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

export interface Cluster {
  /** The folder of `initdb`. */
  readonly programs: string;
  /** The user that will run the server, `null` for the current one. */
  readonly user: SystemUser | null;
  /** Arguments of initdb. */
  readonly words: readonly string[];
}

/** Creates `data`, in a folder that the cluster's user may write to. */
export async function makeCluster(data: string, cluster: Cluster): Promise<void> {
  const shared = process.env[SHARED];
  if (shared === undefined) await initialize(data, cluster);
  else await run("cp", ["-a", await sharedCluster(shared, cluster), data]);
}

/** Returns the files of such a cluster, to be copied and never changed. */
async function sharedCluster(shared: string, cluster: Cluster): Promise<string> {
  const name = createHash("sha256").update(JSON.stringify(cluster)).digest("hex").slice(0, 16);
  const kept = join(shared, name);
  if (existsSync(kept)) return kept;
  const own = await mkdtemp(join(shared, "new-"));
  if (cluster.user !== null) await chown(own, cluster.user.uid, cluster.user.gid);
  await initialize(join(own, "data"), cluster);
  // If another test file was faster, use its files.
  await rename(join(own, "data"), kept).catch((error: unknown) => {
    if (!existsSync(kept)) throw error;
  });
  await rm(own, { recursive: true });
  return kept;
}

async function initialize(data: string, { programs, user, words }: Cluster): Promise<void> {
  await run(join(programs, "initdb"), ["-D", data, "--no-sync", ...words], { cwd: "/", ...user });
}
