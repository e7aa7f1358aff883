import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import {
  backendSection,
  filesSection,
  readBackendSection,
  readFilesSection,
} from "@colloquy/engine/internal/config/backends";
import { recordOf } from "@colloquy/engine/internal/config/schema-parts";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import { checkOperators, type Inspections, withKeySource } from "@colloquy/engine/internal/config/apps";
import {
  freezeConfig,
  readSections,
  type SectionReader,
} from "@colloquy/engine/internal/config/read-sections";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import type { Config } from "./config.ts";
import {
  exposureProblems,
  readEnvironment,
  unknownVariables,
  type EnvironmentReading,
} from "./environment.ts";
import type { FileStamps } from "@colloquy/engine/internal/config/file-stamps";
import { directory } from "@colloquy/engine/internal/files/directory";
import { sqlite } from "@colloquy/engine/internal/store/sqlite/plugin";
import { BUNDLED_PLUGINS } from "./bundled-plugins.ts";
import { configFile, type ConfigFile } from "./file-schema.ts";
import { checkPlugins } from "@colloquy/engine/internal/config/plugins";
import { type ConfigProblem, Findings, formatPath } from "@colloquy/engine/internal/config/problem";
import { readConfigFile, type FileReading } from "./read-file.ts";
import { type StorageVariables, withVariables } from "./storage-variables.ts";
import { fillProtocols, settingsOf } from "./protocols.ts";
import { readPlugins, type PluginReading } from "./read-plugins.ts";
import { describeIssues, findPrototypeKeys } from "@colloquy/engine/internal/config/schema-problems";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";

export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      /** Name of the configuration file; `null` if there is none. */
      readonly source: string | null;
      readonly warnings: readonly string[];
      /**
       * All files that were read or looked for, including modules that the file imports by a relative path.
       */
      readonly files: FileStamps;
      readonly plugins: readonly Plugin[];
    }
  | {
      readonly ok: false;
      readonly problems: readonly ConfigProblem[];
      readonly warnings: readonly string[];
      readonly files: FileStamps;
      /** Successfully loaded plugins. */
      readonly plugins: readonly Plugin[];
    };

/**
 * Returns the frozen configuration from environment and file, or all problems of both (contract sections 4 and 7).
 * `workingDirectory` is where the file is looked up and the base of relative paths.
 */
export async function loadConfig(input: {
  readonly environment: Environment;
  readonly workingDirectory: string;
  /** Checks custom tools. If absent, only their shape is checked. */
  readonly inspections?: Inspections;
}): Promise<LoadedConfig> {
  const environment = readEnvironment(input.environment, input.workingDirectory);
  const files = new Map<string, string>();
  const file = await readConfigFile(environment.configPath, input.workingDirectory, files);
  const listed = await readPlugins(file, files);
  const reader = { inspections: input.inspections ?? null, stamps: files, listed };
  const checked = await checkFile(
    file,
    { environment: input.environment, storage: environment.storage },
    reader,
  );
  const { findings } = checked;
  const problems = [
    ...environment.problems,
    ...exposureProblems(environment.settings),
    ...file.problems,
    ...checked.problems,
  ];
  const warnings = [
    ...environment.warnings,
    ...unknownVariables(input.environment, findings.variables),
    ...file.warnings,
    ...findings.warnings,
  ];
  const { plugins } = checked;
  if (problems.length > 0 || checked.content === null)
    return { ok: false, problems, warnings, files, plugins };
  const config = complete(environment, checked.content, checked);
  return {
    ok: true,
    config: freezeConfig(config),
    source: file.source,
    files,
    plugins,
    warnings: [...warnings, ...exposureWarnings(config)],
  };
}

/**
 * Returns the backend and the file store, for commands that need nothing else of the file. All other sections may be invalid.
 * Defaults to SQLite if neither the environment nor the file names a backend. An unreadable file is a problem
 * only if it may name one.
 */
export async function readBackend(variables: Environment, workingDirectory: string) {
  const {
    settings,
    secretKey,
    configPath,
    storage,
    problems: wrong,
  } = readEnvironment(variables, workingDirectory);
  const stamps = new Map<string, string>();
  const isInFile = storage.COLLOQUY_DATABASE_URL === null;
  const file = await readConfigFile(configPath, workingDirectory, stamps);
  const content = recordOf(file.content);
  const names = [...(isInFile ? ["backend"] : []), "files"].filter((name) => Object.hasOwn(content, name));
  const listed = names.length > 0 ? await readPlugins(file, stamps) : null;
  const findings = new Findings(file.source ?? "");
  const report = (path: readonly PropertyKey[], message: string): void => findings.problem(path, message);
  for (const { path, message } of listed?.failures ?? []) report(path, message);
  const plugins = checkPlugins(BUNDLED_PLUGINS, listed?.candidates ?? [], report);
  const source = file.source ?? "";
  const written = Object.fromEntries(names.map((name) => [name, content[name]]));
  const sections = recordOf(withVariables(written, { ...storage, COLLOQUY_NATS_URL: null }).content);
  const reader = { environment: variables, findings, slots: null, plugins };
  const { chosen: backend, filled } = readBackendSection(sections, reader, sqlite);
  const files = readFilesSection(sections, reader, directory);
  const schema = z.object({
    backend: backendSection(plugins).optional(),
    files: filesSection(plugins).optional(),
  });
  const { error } = schema.safeParse({ ...sections, ...filled, ...files.filled }, { reportInput: true });
  const isUnknown = isInFile && file.content === undefined && (await mentionsBackend(file));
  const problems = [
    ...wrong,
    ...(isUnknown ? file.problems : []),
    ...describeIssues(source, schema, error?.issues ?? [], sections),
    ...findings.problems,
  ];
  return { settings, secretKey, backend, files: files.chosen, problems };
}

async function mentionsBackend({ source, directory }: FileReading): Promise<boolean> {
  if (source === null) return false;
  const text = await readFile(join(directory, source), "utf8").catch(() => "backend");
  return text.includes("backend");
}

/** Reads the sections of the file. `content` of the result is `null` if the schema rejects it. */
async function checkFile(
  file: FileReading,
  { environment, storage }: { readonly environment: Environment; readonly storage: StorageVariables },
  { listed, ...reader }: Pick<SectionReader, "inspections" | "stamps"> & { readonly listed: PluginReading },
) {
  const source = file.source ?? "";
  const written = file.content === undefined ? {} : file.content;
  const { content: read, variables, conflicts } = withVariables(written, storage);
  const { directory: base } = file;
  const wrong: ConfigProblem[] = [...conflicts];
  const report = (path: readonly PropertyKey[], message: string): void =>
    void wrong.push({ source, location: formatPath(path), message });
  for (const { path, message } of listed.failures) report(path, message);
  const unknown: ConfigProblem[] = [];
  const reportOther = (path: readonly PropertyKey[], message: string): void =>
    void unknown.push({ source, location: formatPath(path), message });
  const plugins = checkPlugins(BUNDLED_PLUGINS, listed.candidates, report);
  const schema = configFile(plugins);
  const sections = await readSections(read, schema, {
    source,
    environment,
    directory: base,
    plugins,
    variables,
    defaultStorage: { backend: sqlite, files: directory },
    ...reader,
    fillOthers: (content, filling) => fillProtocols(content["protocols"], plugins, filling, reportOther),
  });
  const { apps = {}, operators } = sections.content ?? {};
  checkOperators(operators, apps, sections.findings);
  const others = [
    ...sections.problems(),
    ...unknown,
    ...(source.endsWith(".json") ? findPrototypeKeys(source, schema, read) : []),
  ];
  // If a plugin failed to load, its sections and tool names would be reported as unknown.
  const problems = listed.failures.length > 0 ? wrong : [...wrong, ...others];
  return { ...sections, problems, plugins };
}

function complete(
  environment: EnvironmentReading,
  content: ConfigFile,
  sections: Pick<Awaited<ReturnType<typeof checkFile>>, "complete">,
): Config {
  const { publicHost } = environment;
  return {
    ...sections.complete(content),
    server: {
      ...environment.settings,
      corsOrigins: content.cors.origins,
      walletListing: content.walletListing,
      signInDomains: content.siwe.domains ?? (publicHost === null ? [] : [publicHost]),
      rateLimits: content.rateLimits,
    },
    secretKey: environment.secretKey,
    proxies: environment.proxies,
    adminKey: environment.adminKey,
    operators: content.operators === undefined ? null : withKeySource(content.operators),
    protocols: settingsOf(content.protocols),
  };
}

function exposureWarnings({ server, apps }: Config): readonly string[] {
  const claimed = Object.keys(apps).filter((name) => apps[name]?.wallets === "claimed");
  if (!isPublic(server) || server.walletListing === "off" || claimed.length === 0) return [];
  const why = server.loopback
    ? "COLLOQUY_TRUSTED_PROXIES is set, so others can reach the service through a proxy,"
    : `HOST is ${server.host}, so other machines can reach the service,`;
  return [
    `${why} and anyone who knows a wallet's address can list its threads in these Apps: ${claimed.join(", ")}. ` +
      `To prevent this, set their wallets to "proved" in the configuration file, or walletListing to "off".`,
  ];
}
