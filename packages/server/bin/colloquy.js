#!/usr/bin/env node
// The door for whoever starts Colloquy by hand. It uses nothing that an old Node lacks, so that one gets a
// sentence here instead of a syntax error from the TypeScript behind it.

import { existsSync } from "node:fs";

const major = Number(process.versions.node.split(".")[0]);

if (major < 24) {
  console.error(
    "Colloquy needs Node 24 or later, and this is Node " +
      process.versions.node +
      ". In a clone, `npm start` and `npx colloquy` bring their own Node; elsewhere install Node 24 or later.",
  );
  process.exit(1);
}

// A clone has the sources, which Node runs as they are; the published package has what they compile to.
const isClone = existsSync(new URL("../src/main.ts", import.meta.url));

await import(isClone ? "../src/main.ts" : "../dist/main.js");
