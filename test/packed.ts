// Packs the published packages in a copy of the clone, because `npm pack` temporarily writes into the
// packages' folders.

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { copyClone } from "./installations.ts";

const ROOT = join(import.meta.dirname, "..");
/** Folders of the server's package and of its dependencies. */
export const SERVER_PACKAGES = [
  "protocol",
  "client",
  "engine",
  "ai-sdk",
  "ag-ui",
  "aomi",
  "mcp",
  "openapi",
  "postgres",
  "nats",
  "s3",
  "openai",
  "mcp-server",
  "server",
] as const;
/** Folders of the published packages. */
export const PUBLISHED = [...SERVER_PACKAGES, "testing", "react", "ui", "create"] as const;

/** Maximum milliseconds to copy and pack all packages, each compiled, on a busy machine. */
export const PACKING_MS = 600_000;

/** Copies the clone to `folder`, with links to the installed dependencies. */
export async function copyWithModules(folder: string): Promise<void> {
  await mkdir(folder);
  await copyClone(folder);
  for (const modules of globSync("{.,packages/*}/node_modules", { cwd: ROOT })) {
    await mkdir(dirname(join(folder, modules)), { recursive: true });
    await symlink(join(ROOT, modules), join(folder, modules));
  }
}

/** Packs packages of a clone into `destination`, as a release does. Returns the tarballs by folder. */
export async function packAll(
  clone: string,
  destination: string,
  names: readonly string[] = PUBLISHED,
): Promise<ReadonlyMap<string, string>> {
  const workspaces = names.flatMap((name) => ["--workspace", `packages/${name}`]);
  const options = { cwd: clone, maxBuffer: 16 * 1024 * 1024 };
  const command = ["pack", ...workspaces, "--pack-destination", destination, "--offline", "--json"];
  const { stdout } = await promisify(execFile)("npm", command, options);
  const packed = [...stdout.matchAll(/"filename": "([^"]+)"/g)].map(([, file = ""]) => file);
  return new Map(
    names.map((name) => {
      // A name may be the end or the beginning of another one.
      const tarball = new RegExp(`^colloquy-${name}-\\d`);
      return [name, join(destination, packed.find((file) => tarball.test(file)) ?? "")];
    }),
  );
}
