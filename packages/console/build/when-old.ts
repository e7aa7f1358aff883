// Runs before `npm start`: builds the console if it is missing or outdated. Failures never prevent the start.

import { join } from "node:path";
import { keepUpToDate } from "./keep-up-to-date.ts";

await keepUpToDate(join(import.meta.dirname, "../dist"), {
  // Loaded only when needed: installations without development dependencies do not have it.
  build: async (directory) => (await import("./build-console.ts")).buildConsole(directory),
  print: (line) => console.error(line),
});
