// Loads configuration files with Apps. `defi` is the App under test.

import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import type { Config } from "../config.ts";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import type { LoadedConfig } from "../load-config.ts";
import { formatProblems } from "@colloquy/engine/internal/config/problem";
import { problemTexts, useConfigDirectory } from "./config-directory.ts";

export interface AppConfigs {
  /** Returns the path of a file beside the configuration. */
  readonly inside: (name: string) => string;
  /** Loads a JSON file with this text or content. */
  readonly load: (content: unknown, environment?: Environment) => Promise<LoadedConfig>;
  /** Loads a module with this text. */
  readonly loadModule: (name: string, text: string) => Promise<LoadedConfig>;
  /** Like `load`, but throws if there are problems. */
  readonly accepted: (content: unknown, environment?: Environment) => Promise<Config>;
  /** Loads the App `defi` with this section; throws if there are problems. */
  readonly app: (section: unknown, environment?: Environment, chains?: unknown) => Promise<AppSettings>;
  /** Returns the problems of the App `defi` as `location: message`, without the prefix `apps.defi.`. */
  readonly problems: (section: unknown, environment?: Environment) => Promise<readonly string[]>;
  readonly warnings: (section: unknown, environment?: Environment) => Promise<readonly string[]>;
}

export function useAppConfigs(): AppConfigs {
  const directory = useConfigDirectory();
  const load: AppConfigs["load"] = async (content, environment) => {
    await directory.write("colloquy.config.json", content);
    return directory.load(environment);
  };
  const accepted = async (content: unknown, environment?: Environment) => {
    const result = await load(content, environment);
    if (!result.ok) throw new Error(formatProblems(result.problems));
    return result;
  };
  return {
    inside: directory.inside,
    load,
    loadModule: async (name, text) => {
      await directory.write("package.json", { type: "module" });
      await directory.write(name, text);
      return directory.load();
    },
    accepted: async (content, environment) => (await accepted(content, environment)).config,
    app: async (section, environment, chains) => {
      const content = { apps: { defi: section }, ...(chains !== undefined && { chains }) };
      const { defi } = (await accepted(content, environment)).config.apps;
      if (defi === undefined) throw new Error("The App is not there.");
      return defi;
    },
    problems: async (section, environment) =>
      problemTexts(await load({ apps: { defi: section } }, environment)).map((problem) =>
        problem.replace(/^apps\.defi\./, ""),
      ),
    warnings: async (section, environment) =>
      (await accepted({ apps: { defi: section } }, environment)).warnings,
  };
}
