// Checks custom tools and wallets before the start. Part of wiring, because config and tools must not import each other.
// Loads the checks on demand.

import { createRequire } from "node:module";
import type { Inspections } from "../config/apps.ts";

export const inspections: Inspections = {
  wallet() {
    try {
      createRequire(import.meta.url).resolve("viem");
      return null;
    } catch {
      return "needs the package viem, which is not installed: npm install viem";
    }
  },

  async ownTool(name, { description, inputSchema, execute }) {
    const [sdk, { readOwnTool }] = await Promise.all([import("ai"), import("../tools/own/own-tool.ts")]);
    try {
      const tool = { ...(description !== undefined && { description }), inputSchema, execute };
      await readOwnTool(name, tool, sdk);
      return null;
    } catch (error) {
      return `cannot be used. ${reasonOf(error)}`;
    }
  },
};

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
