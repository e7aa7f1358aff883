import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Tells the address of every module that is loaded. It is no thread of anybody, which the module says at its end. */
const LOAD = `
  const { registerHooks } = await import("node:module");
  registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });
  await import(${JSON.stringify(import.meta.resolve("./worker.ts"))}).catch(() => undefined);
`;

it("the thread of the store loads no package, with which it would take twice as long to start", async () => {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", LOAD]);
  const loaded = stdout.trim().split("\n");
  expect(loaded).toEqual(
    expect.arrayContaining([import.meta.resolve("./worker.ts"), import.meta.resolve("./turns.ts")]),
  );
  expect(loaded.filter((url) => url.includes("/node_modules/"))).toEqual([]);
});
