// Vitest configuration of `npm run test:client-nodes`: runs the client's tests with the published package
// instead of the sources.

import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { projectSettings } from "../../../vitest.config.ts";

const PUBLISHED = process.env["COLLOQUY_TEST_CLIENT"] ?? "";
const ROOT = join(import.meta.dirname, "../../..");
const TESTS = "packages/client/test";
const [version = 0] = process.versions.node.split(".").map(Number);

/** Node 20 cannot run the service and lacks Web Locks, so it runs only tests without them. */
const ON_NODE_20 = ["packages/client/src/**/*.test.ts", `${TESTS}/requests.test.ts`];
const ALL = [
  "packages/client/src/**/*.test.ts",
  `${TESTS}/{broken-streams,live-session,operations,recorded-stream,requests,session-follower,tool-runner}.test.ts`,
];

export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: "published-client",
      enforce: "pre",
      resolveId: (specifier, importer = "") => {
        const [, entry] = /^\.\.\/src\/(index|admin)\.ts$/.exec(specifier) ?? [];
        return entry !== undefined && importer.includes(TESTS) ? join(PUBLISHED, `${entry}.js`) : null;
      },
    },
  ],
  test: {
    ...projectSettings,
    name: `node${version}`,
    include: version < 22 ? ON_NODE_20 : ALL,
    exclude: version < 22 ? ["packages/client/src/stream-slots.test.ts"] : [],
    passWithNoTests: false,
  },
});
