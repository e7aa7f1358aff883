import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Prints the URL of every loaded module. Outside a worker thread, the module throws after its imports. */
const LOAD = `
  const { registerHooks } = await import("node:module");
  registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });
  await import(${JSON.stringify(import.meta.resolve("./worker.ts"))}).catch(() => undefined);
`;

it("loads no package in the store's thread", async () => {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", LOAD]);
  const loaded = stdout.trim().split("\n");
  expect(loaded).toEqual(
    expect.arrayContaining([import.meta.resolve("./worker.ts"), import.meta.resolve("./turns.ts")]),
  );
  expect(loaded.filter((url) => url.includes("/node_modules/"))).toEqual([]);
});
