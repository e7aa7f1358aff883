// What npm installs for contributors, and for running the service.

import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");

/** Most megabytes that an installation may take beside the Node binary, as `du -m` counts them. */
export const MOST_MEGABYTES = { "npm ci": 650, "npm ci --omit=dev": 200 } as const;

/** What `node_modules` contains beside installed packages. */
const NOT_INSTALLED = [".cache", ".vite", ".vite-temp", ".vitest-cache"];
const NODE_BINARIES = ["node-linux-*", "node-*darwin-*"];

/** Copies the files of the clone to `folder`, without what is installed or built. */
export async function copyClone(folder: string): Promise<void> {
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: ROOT,
    maxBuffer: 16 * 1024 * 1024,
  });
  const files = stdout.split("\0").filter((file) => file !== "");
  await Promise.all(files.map((file) => cp(join(ROOT, file), join(folder, file)).catch(ignoreDeletedFile)));
}

function ignoreDeletedFile(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

/** Returns the megabytes of the packages in the `node_modules` of `folder`, beside the Node binary. */
export async function installedMegabytes(folder = ROOT): Promise<number> {
  const excluded = [...NODE_BINARIES, ...NOT_INSTALLED].map((name) => `--exclude=${name}`);
  const { stdout } = await run("du", ["-sm", ...excluded, "node_modules"], { cwd: folder });
  return Number.parseInt(stdout);
}
