// Runs before `npm start`: builds the console if it is missing or outdated. Failures never prevent the start.

import { join } from "node:path";
import { keepUpToDate } from "./keep-up-to-date.ts";

await keepUpToDate(join(import.meta.dirname, "../dist"), {
  // Loaded only when needed: installations without development dependencies do not have it.
  build: async (directory, progress) =>
    (await import("./build-console.ts")).buildConsole(directory, {}, progress),
  progress: (what) => {
    // Update one line in place, on terminals only. CSI K erases the rest of the line (ECMA-48).
    if (process.stderr.isTTY) process.stderr.write(what === null ? "\r\x1b[K" : `\r  ${what}\x1b[K`);
  },
  print: (line) => console.error(line),
});
