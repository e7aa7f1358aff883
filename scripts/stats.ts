// `npm run stats` prints the sizes of the project beside their targets. `--install` adds the size of fresh
// installations; `--files` lists the source files that each measured request executes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { copyClone, install, MOST_MEGABYTES } from "./stats/installations.ts";
import { countFolders } from "./stats/folders.ts";
import { measureWalks } from "./stats/walks.ts";
import { LAST_RUN, readRuns } from "../test/last-run-reporter.ts";

const { values } = parseArgs({ options: { install: { type: "boolean" }, files: { type: "boolean" } } });

const row = (name: string, measured: string | number, target = ""): void =>
  console.log(`${name.padEnd(36)}${String(measured).padStart(9)}  ${target}`);

row("", "measured", "target");
const folders = [...countFolders()];
const total = { files: 0, lines: 0 };
for (const [, { files, lines }] of folders) {
  total.files += files;
  total.lines += lines;
}
console.log("\nFiles of the server");
row("all folders", total.files, "420");
for (const [folder, { files }] of folders) row(`  ${folder}`, files);
console.log("\nLines of the server");
row("all folders", total.lines, "40000");
for (const [folder, { lines }] of folders) row(`  ${folder}`, lines);

console.log("\nSource files that execute a function");
for (const [walk, files] of Object.entries(await measureWalks())) {
  row(walk, files.length, walk === "chat" ? "30" : "");
  if (values.files === true) for (const file of files) console.log(`  ${file}`);
}

console.log("\nLast complete run of each project of tests, in seconds");
for (const [projects, { seconds, passed }] of Object.entries(readRuns(LAST_RUN))) {
  row(
    `${projects}: ${passed} tests`,
    Math.round(seconds),
    projects === "fast and fast-isolated" ? "180, with 6000 tests" : "",
  );
}

if (values.install === true) {
  console.log("\nMegabytes beside the Node binary");
  for (const command of Object.keys(MOST_MEGABYTES) as (keyof typeof MOST_MEGABYTES)[]) {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-install-"));
    try {
      await copyClone(folder);
      row(command, await install(folder, command), String(MOST_MEGABYTES[command]));
    } finally {
      await rm(folder, { recursive: true });
    }
  }
}
