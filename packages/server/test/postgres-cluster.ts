// The files of a new PostgreSQL server. initdb takes a second to make them: what one test file has made, the others of the same run copy.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SystemUser } from "./postgres-programs.ts";

const run = promisify(execFile);

/** Names the folder of clusters that the test files of a run share. */
const SHARED = "COLLOQUY_TEST_CLUSTERS";

/** Called by Vitest, which gives the environment to each test file, before the first of them. */
export async function setup(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-clusters-"));
  // The server runs as somebody else where the tests are run by root.
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
  /** Who the server will run as, `null` for who runs the tests. */
  readonly user: SystemUser | null;
  /** What initdb is told. */
  readonly words: readonly string[];
}

/** Makes `data`, in a folder that the cluster's user may write to. */
export async function makeCluster(data: string, cluster: Cluster): Promise<void> {
  const shared = process.env[SHARED];
  if (shared === undefined) await initialize(data, cluster);
  else await run("cp", ["-a", await sharedCluster(shared, cluster), data]);
}

/** The files of such a cluster, which nobody may change. */
async function sharedCluster(shared: string, cluster: Cluster): Promise<string> {
  const name = createHash("sha256").update(JSON.stringify(cluster)).digest("hex").slice(0, 16);
  const kept = join(shared, name);
  if (existsSync(kept)) return kept;
  const own = await mkdtemp(join(shared, "new-"));
  if (cluster.user !== null) await chown(own, cluster.user.uid, cluster.user.gid);
  await initialize(join(own, "data"), cluster);
  // Where another test file was faster, its files are as good.
  await rename(join(own, "data"), kept).catch((error: unknown) => {
    if (!existsSync(kept)) throw error;
  });
  await rm(own, { recursive: true });
  return kept;
}

async function initialize(data: string, { programs, user, words }: Cluster): Promise<void> {
  await run(join(programs, "initdb"), ["-D", data, "--no-sync", ...words], { cwd: "/", ...user });
}
