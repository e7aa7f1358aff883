// Reloads of the configuration, one after another, so that the last version of the file wins.

import { describeChanges } from "../config/changes.ts";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { ConfigProblem } from "../config/problem.ts";
import type { ReloadNotes } from "./reload-notes.ts";

export type ReloadOutcome =
  | {
      readonly ok: true;
      /** Sentences about settings that are new, gone or different. */
      readonly changes: readonly string[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

export interface ReloadOptions {
  /** The configuration that the service started with. */
  readonly started: Extract<LoadedConfig, { readonly ok: true }>;
  /** Reads the configuration; `reading` is different each time. */
  readonly read: (reading: number, sourceInForce: string | null) => Promise<LoadedConfig>;
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
  /** The reload that has not begun yet. */
  #next: Promise<LoadedConfig | null> | null = null;
  #readings = 0;

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#inForce = options.started;
  }

  /** Reads the file after this call and puts it into force, unless it has a problem. Returns what was read; `null` after a defect. */
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
      loaded = await read(this.#readings, this.#inForce.source);
      outcome = loaded.ok ? this.#apply(loaded) : { ok: false, problems: loaded.problems };
    } catch (error) {
      const message = `The configuration was not taken over because of a defect: ${String(error)}`;
      outcome = { ok: false, problems: [{ source: "", location: "", message }] };
    }
    report(outcome);
    notes.finish(this.#readings, outcome);
    return loaded;
  }

  #apply(loaded: Extract<LoadedConfig, { readonly ok: true }>): ReloadOutcome {
    const needRestart = this.#options.apply(loaded.config);
    const changes = describeChanges(this.#inForce.config, loaded.config);
    this.#inForce = loaded;
    return { ok: true, changes, warnings: [...loaded.warnings, ...needRestart] };
  }
}
