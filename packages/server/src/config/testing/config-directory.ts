// Creates a directory for each test and loads the configuration in it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Config } from "../config.ts";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import { type LoadedConfig, loadConfig } from "../load-config.ts";
import { formatProblems } from "@colloquy/engine/internal/config/problem";

export interface ConfigDirectory {
  /** Returns the path of a file in the directory. */
  readonly inside: (name: string) => string;
  /** Writes a file: text as it is, anything else as JSON. */
  readonly write: (name: string, content: unknown) => Promise<void>;
  readonly load: (environment?: Environment) => Promise<LoadedConfig>;
  /** Throws if there are problems. */
  readonly loaded: (environment?: Environment) => Promise<Config>;
  /** Returns the problems as `location: message`. */
  readonly problems: (environment?: Environment) => Promise<readonly string[]>;
  /** Throws if there are problems. */
  readonly warnings: (environment?: Environment) => Promise<readonly string[]>;
}

export function useConfigDirectory(): ConfigDirectory {
  let directory = "";
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-config-"));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const load = (environment: Environment = {}) => loadConfig({ environment, workingDirectory: directory });
  const accepted = async (environment?: Environment) => {
    const result = await load(environment);
    if (!result.ok) throw new Error(formatProblems(result.problems));
    return result;
  };
  return {
    inside: (name) => join(directory, name),
    write: (name, content) =>
      writeFile(join(directory, name), typeof content === "string" ? content : JSON.stringify(content)),
    load,
    loaded: async (environment) => (await accepted(environment)).config,
    problems: async (environment) => problemTexts(await load(environment)),
    warnings: async (environment) => (await accepted(environment)).warnings,
  };
}

/** Returns the problems of a result as `location: message`. */
export function problemTexts(result: LoadedConfig): string[] {
  return result.ok ? [] : result.problems.map(({ location, message }) => `${location}: ${message}`);
}
