#!/usr/bin/env node
// Entry point for people who start Colloquy by hand. It uses no feature that an old Node lacks, so that an
// old Node shows a sentence instead of a syntax error from the TypeScript sources.

import { existsSync } from "node:fs";

const major = Number(process.versions.node.split(".")[0]);

if (major < 24) {
  console.error(
    "Colloquy needs Node 24 or later, and this is Node " +
      process.versions.node +
      ". In a clone, `npm start` and `npx colloquy` bring their own Node; elsewhere install Node 24 or later.",
  );
  // As for a wrong configuration: restarting does not help.
  process.exit(2);
}

// A clone contains the TypeScript sources, which Node runs directly; the published package contains
// JavaScript.
const isClone = existsSync(new URL("../src/main.ts", import.meta.url));

await import(isClone ? "../src/main.ts" : "../dist/main.js");
