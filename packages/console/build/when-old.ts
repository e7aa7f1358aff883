// Before `npm start`: builds the console when it is missing or older than its sources. The service starts whatever comes of it.

import { join } from "node:path";
import { keepUpToDate } from "./keep-up-to-date.ts";

await keepUpToDate(join(import.meta.dirname, "../dist"), {
  // What builds is loaded only where it is needed: an installation without development dependencies has none of it.
  build: async (directory) => (await import("./build-console.ts")).buildConsole(directory),
  tell: (line) => console.error(line),
});
