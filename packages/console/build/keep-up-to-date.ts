import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fingerprint, FINGERPRINT_FILE } from "./fingerprint.ts";

export interface Building {
  readonly build: (directory: string) => Promise<void>;
  /** Prints one line for the person who starts the service. */
  readonly print: (line: string) => void;
  /** Root of the sources; this repository when absent. */
  readonly repository?: string;
}

/** Builds into `directory` unless the build there is up to date. Never rejects. */
export async function keepUpToDate(directory: string, building: Building): Promise<void> {
  const { build, print, repository } = building;
  let builtOf: string | null = null;
  try {
    builtOf = await readFile(join(directory, FINGERPRINT_FILE), "utf8").catch(() => null);
    if (builtOf === (await fingerprint(repository))) return;
    print(
      `Colloquy: the console is ${builtOf === null ? "not built yet" : "older than its sources"}, building it.`,
    );
    await build(directory);
  } catch (error) {
    print(
      `Colloquy: the console could not be built, ${whatNow(error, builtOf !== null)} (${firstLine(error)})`,
    );
  }
}

function whatNow(error: unknown, isOldThere: boolean): string {
  const served = isOldThere ? "so the old one is served." : "so the service starts without it.";
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isMissing ? `${served} The build tools come with "npm ci" without --omit=dev.` : served;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
