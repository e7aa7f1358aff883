// Reloads the configuration, one reload after another, so that the last version of the file wins.

import { relative } from "node:path";
import { describeChanges } from "../config/changes.ts";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { formatProblems, REFUSED } from "../config/problem.ts";
import type { ReloadNotes, ReloadOutcome } from "./reload-notes.ts";
import { changedFiles, type FileStamps, stampOf } from "../config/file-stamps.ts";

/** Interval of the polls. File-system events are lost on network volumes, and when an editor replaces a file. */
const POLL_MS = 200;

export interface WatchOptions {
  /** The files of the current configuration. */
  readonly files: FileStamps;
  readonly workingDirectory: string;
  /** A file that is read only at the start. */
  readonly environmentFile: string;
  /** Returns the loaded configuration; `null` after a defect. */
  readonly reload: () => Promise<LoadedConfig | null>;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly say: (text: string) => void;
}

/** Reloads the configuration when one of its files changes, for `colloquy dev`. Runs until the process ends. */
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
 * Returns the files to watch. A file that could not be read has not named its imports, so the files of the current
 * configuration are watched too.
 */
export function filesAfter(loaded: LoadedConfig | null, inForce: FileStamps): FileStamps {
  if (loaded?.ok === true) return loaded.files;
  const kept = [...inForce.keys()].map((path) => [path, stampOf(path)] as const);
  return new Map([...kept, ...(loaded?.files ?? [])]);
}

export interface ReloadOptions {
  /** The configuration that the service started with. */
  readonly started: Extract<LoadedConfig, { readonly ok: true }>;
  /** Reads the configuration again. */
  readonly read: (sourceInForce: string | null) => Promise<LoadedConfig>;
  /** Puts a configuration into force. Returns warnings about settings that need a restart. */
  readonly apply: (config: Config) => readonly string[];
  readonly notes: ReloadNotes;
  /** Reports a reload to the operator. */
  readonly report: (outcome: ReloadOutcome) => void;
}

export class Reloads {
  readonly #options: ReloadOptions;
  #inForce: Extract<LoadedConfig, { readonly ok: true }>;
  #last: Promise<unknown> = Promise.resolve();
  /** The reload that was requested but has not begun. */
  #next: Promise<LoadedConfig | null> | null = null;
  #readings = 0;

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#inForce = options.started;
  }

  /**
   * Reads the file after this call and puts it into force, unless it has a problem. Returns the loaded
   * configuration; `null` after a defect.
   */
  request(): Promise<LoadedConfig | null> {
    this.#next ??= this.#last = this.#after(this.#last);
    return this.#next;
  }

  async #after(previous: Promise<unknown>): Promise<LoadedConfig | null> {
    await previous;
    this.#next = null;
    const { notes, read, report } = this.#options;
    this.#readings += 1;
    notes.begin(this.#readings);
    let loaded: LoadedConfig | null = null;
    let outcome: ReloadOutcome;
    try {
      loaded = await read(this.#inForce.source);
      outcome = loaded.ok ? this.#apply(loaded) : { ok: false, problems: loaded.problems };
    } catch (error) {
      const message = `The configuration was not applied because of a defect: ${String(error)}`;
      outcome = { ok: false, problems: [{ source: "", location: "", message }] };
    }
    report(outcome);
    notes.finish(this.#readings, outcome);
    return loaded;
  }

  #apply(loaded: Extract<LoadedConfig, { readonly ok: true }>): ReloadOutcome {
    const needRestart = this.#options.apply(loaded.config);
    const changes = describeChanges(this.#inForce, loaded);
    this.#inForce = loaded;
    return { ok: true, changes, warnings: [...loaded.warnings, ...needRestart] };
  }
}

/** Formats the outcome for a terminal. */
export function formatOutcome(outcome: ReloadOutcome): string {
  if (!outcome.ok) return formatProblems(outcome.problems, REFUSED);
  const { changes, warnings } = outcome;
  const lines = [...changes, ...warnings.map((warning) => `Warning: ${warning}`)].map(
    (line) => `  - ${line}`,
  );
  return ["The new configuration is in force.", ...lines].join("\n");
}
