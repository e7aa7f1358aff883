#!/usr/bin/env node
// Only the built package has the templates: see build/build-package.ts.
const { main } = await import(new URL("../dist/main.js", import.meta.url).href);

process.exitCode = await main(process.argv.slice(2), process);
