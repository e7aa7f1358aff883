// Reloads the configuration when one of its files changes, for `colloquy dev`. Polls, because file-system
// events are lost on network volumes, and when an editor replaces a file.

import { relative } from "node:path";
import { changedFiles, type FileStamps, stampOf } from "../config/file-stamps.ts";
import type { LoadedConfig } from "../config/load-config.ts";

const POLL_MS = 200;

export interface WatchOptions {
  /** The files of the configuration in force. */
  readonly files: FileStamps;
  readonly workingDirectory: string;
  /** A file that is read only at the start. */
  readonly environmentFile: string;
  /** Returns the loaded configuration; `null` after a defect. */
  readonly reload: () => Promise<LoadedConfig | null>;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly say: (text: string) => void;
}

/** Runs until the process ends. */
export async function watchConfiguration(options: WatchOptions): Promise<never> {
  const { workingDirectory, environmentFile, reload, sleep, say } = options;
  let files = options.files;
  let environment = stampOf(environmentFile);
  for (;;) {
    const changed = await nextChange(new Map([...files, [environmentFile, environment]]), sleep);
    if (changed.includes(environmentFile)) {
      environment = stampOf(environmentFile);
      say(`${relative(workingDirectory, environmentFile)} has changed. Restart colloquy dev to read it.`);
    }
    const read = changed.filter((path) => path !== environmentFile);
    if (read.length === 0) continue;
    say(`${read.map((path) => relative(workingDirectory, path)).join(", ")} changed.`);
    files = filesAfter(await reload(), files);
  }
}

/** Resolves with the changed files, as soon as no program writes to them any more. */
export async function nextChange(
  files: FileStamps,
  sleep: WatchOptions["sleep"],
): Promise<readonly string[]> {
  for (let before = ""; ; ) {
    await sleep(POLL_MS);
    const changed = changedFiles(files);
    const now = changed.map((path) => `${path} ${stampOf(path)}`).join("\n");
    if (changed.length > 0 && now === before) return changed;
    before = now;
  }
}

/**
 * Returns the files to watch. An invalid file may not have named its imports, so the files of the
 * configuration in force stay watched.
 */
export function filesAfter(loaded: LoadedConfig | null, inForce: FileStamps): FileStamps {
  if (loaded?.ok === true) return loaded.files;
  const kept = [...inForce.keys()].map((path) => [path, stampOf(path)] as const);
  return new Map([...kept, ...(loaded?.files ?? [])]);
}
