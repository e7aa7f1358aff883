// `npm run test:react18`: runs this package's tests with React resolved from test/react18, for assistant-ui
// too. Run directly, it starts vitest; preloaded into each process, it redirects the resolution.

import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../../..");
const REACT = /^(?:react|react-dom|scheduler)\//;

/** Tests of components of `@colloquy/ui`, which needs React 19. */
const OF_COMPONENTS = ["/examples.test.tsx", "/components-on-a-server.test.tsx"];

if (import.meta.main) runTests();
else replaceReact();

function runTests(): void {
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const env = { ...process.env, TEST_REACT: "18", NODE_OPTIONS: `--import=${import.meta.url}` };
  const files = globSync("packages/react/{src,test}/**/*.test.{ts,tsx}", { cwd: ROOT }).filter(
    (file) => !OF_COMPONENTS.some((name) => file.endsWith(name)),
  );
  const tests = spawn(process.execPath, [vitest, "run", ...files, ...process.argv.slice(2)], {
    cwd: ROOT,
    env,
    stdio: "inherit",
  });
  tests.on("close", (code) => void (process.exitCode = code ?? 1));
}

function replaceReact(): void {
  const usual = `${pathToFileURL(join(ROOT, "node_modules")).href}/`;
  const wanted = `${pathToFileURL(join(ROOT, "test/react18/node_modules")).href}/`;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const { url } = resolved;
      return url.startsWith(usual) && REACT.test(url.slice(usual.length))
        ? { ...resolved, url: wanted + url.slice(usual.length) }
        : resolved;
    },
  });
}
