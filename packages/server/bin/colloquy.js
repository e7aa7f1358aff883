#!/usr/bin/env node
// The door for whoever starts Colloquy by hand. It uses nothing that an old Node lacks, so that one gets a
// sentence here instead of a syntax error from the TypeScript behind it.

const major = Number(process.versions.node.split(".")[0]);

if (major < 24) {
  console.error(
    "Colloquy needs Node 24 or later, and this is Node " +
      process.versions.node +
      ". In a clone, `npm start` and `npx colloquy` bring their own Node; elsewhere install Node 24 or later.",
  );
  process.exit(1);
}

// What npm start runs serves by itself; whoever types the name alone wants to know what there is.
if (process.argv.length === 2) process.argv.push("--help");

await import("../src/main.ts");
