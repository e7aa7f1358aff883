#!/usr/bin/env node
import { existsSync } from "node:fs";

const built = new URL("../dist/main.js", import.meta.url);
if (!existsSync(built)) {
  console.error(
    "A clone has no built templates. Use the published package: npm create @colloquy@latest my-app",
  );
  process.exit(1);
}
const { main } = await import(built.href);

process.exitCode = await main(process.argv.slice(2), process);
