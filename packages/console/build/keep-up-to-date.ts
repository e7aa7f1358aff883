import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fingerprint, FINGERPRINT_FILE } from "./fingerprint.ts";

export interface Building {
  /** Builds into a directory. Reports progress as short texts. */
  readonly build: (directory: string, progress: (text: string) => void) => Promise<void>;
  /** Shows the progress, replacing the previous text; `null` clears it. */
  readonly progress: (text: string | null) => void;
  /** Prints one line to the terminal. */
  readonly print: (line: string) => void;
  /** Root of the sources; defaults to this repository. */
  readonly repository?: string;
}

/** Builds the console into `directory` unless it is up to date. Never rejects: prints errors instead. */
export async function keepUpToDate(directory: string, building: Building): Promise<void> {
  const { build, print, progress, repository } = building;
  let builtFrom: string | null = null;
  try {
    builtFrom = await readFile(join(directory, FINGERPRINT_FILE), "utf8").catch(() => null);
    if (builtFrom === (await fingerprint(repository))) return;
    print(
      `Colloquy: building the console, which is ${builtFrom === null ? "not built yet" : "older than its sources"}.`,
    );
    const start = performance.now();
    await build(directory, progress).finally(() => progress(null));
    print(`Colloquy: built the console in ${Math.ceil((performance.now() - start) / 1_000)} s.`);
  } catch (error) {
    print(
      `Colloquy: building the console failed (${firstLine(error)}). ${consequenceOf(error, builtFrom !== null)}`,
    );
  }
}

function consequenceOf(error: unknown, hasOldBuild: boolean): string {
  const served = hasOldBuild ? "The previous build is served." : "The service starts without the console.";
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isMissing ? `${served} To install the build tools, run "npm ci" without --omit=dev.` : served;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
