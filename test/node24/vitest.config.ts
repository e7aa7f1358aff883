// The tests that `npm run test:node24` runs on Node 24.

import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { ON_NODE_24 } from "../test-files.ts";
import { projectSettings, runSettings } from "../../vitest.config.ts";

const ROOT = join(import.meta.dirname, "../..");

export default defineConfig({
  root: ROOT,
  test: {
    ...runSettings,
    ...projectSettings,
    // As in the project `slow`, some of whose files are here.
    testTimeout: 180_000,
    name: "node24",
    include: [...ON_NODE_24],
  },
});
