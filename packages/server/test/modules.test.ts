// Node runs these sources directly: each module must load by itself with nothing but type stripping.

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PACKAGES = join(import.meta.dirname, "../..");
/**
 * Modules that start working when loaded: the program itself, which other tests start, and worker threads.
 */
const AT_WORK = [
  "server/src/main.ts",
  "engine/src/store/sqlite/worker.ts",
  "engine/src/store/sqlite/reader.ts",
  "engine/src/schemas/schema-worker.ts",
];

const modules = globSync(
  "{protocol,client,engine,ai-sdk,ag-ui,aomi,mcp,mcp-server,openai,openapi,postgres,nats,server}/src/**/*.ts",
  {
    cwd: PACKAGES,
    exclude: (path) => /\.(?:test|suite)\.ts$/.test(path) || path.endsWith(".d.ts"),
  },
).filter((path) => !AT_WORK.includes(path));

const LOAD = `
  for (const path of process.argv.slice(1)) {
    try {
      await import(path);
    } catch (error) {
      console.log(path + ": " + error);
    }
  }
  console.log("tried " + (process.argv.length - 1));
`;

it("every module loads", async () => {
  expect(modules.length).toBeGreaterThan(400);
  const paths = modules.map((path) => join(PACKAGES, path));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--input-type=module",
    "--eval",
    LOAD,
    ...paths,
  ]);
  expect(stdout.trim().split("\n")).toEqual([`tried ${modules.length}`]);
});
