import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../../..");

/** Builds the page of an example into the folder, with the environment of a user, not of this test run. */
export async function buildExample(
  name: string,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  const options = ["build", "--outDir", folder, "--emptyOutDir"];
  await promisify(execFile)(process.execPath, [vite, ...options], {
    cwd: join(ROOT, "examples", name),
    env: { ...process.env, NODE_ENV: "production", ...environment },
  });
}
