import { Hidden } from "../core/hidden.ts";
import { isPublic } from "../core/loopback.ts";
import { AppSection } from "./app-schema.ts";
import {
  type AppReader,
  checkOperators,
  checkUsers,
  completeApp,
  type Inspections,
  readApps,
  withKeySource,
} from "./apps.ts";
import { readChains } from "./app-tools.ts";
import type { Config } from "./config.ts";
import {
  exposureProblems,
  readEnvironment,
  unknownVariables,
  type EnvironmentReading,
} from "./environment.ts";
import type { FileStamps } from "./file-stamps.ts";
import { ConfigFile } from "./file-schema.ts";
import { Findings, type ConfigProblem } from "./problem.ts";
import { readProviders } from "./providers.ts";
import { readConfigFile, type FileReading } from "./read-file.ts";
import { recordOf } from "./schema-parts.ts";
import { describeIssues, findPrototypeKeys } from "./schema-problems.ts";
import type { Environment } from "./secret-variable.ts";

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
    }
  | {
      readonly ok: false;
      readonly problems: readonly ConfigProblem[];
      readonly warnings: readonly string[];
      readonly files: FileStamps;
    };

const FILE_GONE = "no longer exists. Put it back and reload; to run without a file, restart the service.";

/**
 * Returns the frozen configuration from environment and file, or all problems of both (contract sections 4 and 7).
 * `workingDirectory` is where the file is looked up and the base of relative paths.
 */
export async function loadConfig(input: {
  readonly environment: Environment;
  readonly workingDirectory: string;
  /** Counts loads in this process; a number above 0 bypasses the module cache. Defaults to 0. */
  readonly reading?: number;
  /**
   * On a reload, the file of the current settings. If it is missing, that is a problem instead of a switch to
   * the defaults.
   */
  readonly sourceInForce?: string | null;
  /** Checks OpenAPI document files and custom tools. If absent, document files only have to exist. */
  readonly inspections?: Inspections;
}): Promise<LoadedConfig> {
  const environment = readEnvironment(input.environment, input.workingDirectory);
  const files = new Map<string, string>();
  const file = await readConfigFile(
    environment.configPath,
    input.workingDirectory,
    input.reading ?? 0,
    files,
  );
  const checked = await checkFile(file, {
    environment: input.environment,
    inspections: input.inspections ?? null,
    stamps: files,
  });
  const { findings } = checked;
  const gone = file.source === null ? (input.sourceInForce ?? null) : null;
  const problems = [
    ...environment.problems,
    ...exposureProblems(environment.settings),
    ...(gone === null ? [] : [{ source: gone, location: "", message: FILE_GONE }]),
    ...file.problems,
    ...checked.problems,
  ];
  const warnings = [
    ...environment.warnings,
    ...unknownVariables(input.environment, findings.variables),
    ...file.warnings,
    ...findings.warnings,
  ];
  if (problems.length > 0 || checked.content === null) return { ok: false, problems, warnings, files };
  const config = complete(environment, checked.content, checked);
  const ownTools = Object.values(config.apps).flatMap(({ tools }) => Object.values(tools.own));
  return {
    ok: true,
    config: deepFreeze(config, new Set(ownTools)),
    source: file.source,
    files,
    warnings: [...warnings, ...exposureWarnings(config)],
  };
}

/** Returns the content, `null` if the schema rejects it, with the problems and warnings of the file and of its keys. */
async function checkFile(
  file: FileReading,
  {
    environment,
    ...reader
  }: { readonly environment: Environment } & Pick<AppReader, "inspections" | "stamps">,
) {
  const source = file.source ?? "";
  const findings = new Findings(source);
  const read = file.content === undefined ? {} : file.content;
  const parsed = ConfigFile.safeParse(read, { reportInput: true });
  const sections = recordOf(read);
  const { providers, problems: keyProblems } = readProviders(sections["providers"], environment, findings);
  const filling = { environment, findings, slots: null };
  const chains = readChains(sections["chains"], filling);
  const tools = await readApps(sections["apps"], {
    ...filling,
    chains,
    directory: file.directory,
    providers,
    ...reader,
  });
  const { apps = {}, operators } = parsed.data ?? {};
  checkUsers(apps, findings);
  checkOperators(operators, apps, findings);
  const problems = [
    ...describeIssues(source, ConfigFile, parsed.error?.issues ?? []),
    ...(source.endsWith(".json") ? findPrototypeKeys(source, ConfigFile, read) : []),
    ...keyProblems,
    ...findings.problems,
  ];
  return { content: parsed.data ?? null, providers, chains, tools, findings, problems };
}

function complete(
  environment: EnvironmentReading,
  content: ConfigFile,
  { providers, chains, tools }: Pick<Awaited<ReturnType<typeof checkFile>>, "providers" | "chains" | "tools">,
): Config {
  const { publicHost } = environment;
  const usable = [...providers.values()].filter(({ unusable }) => unusable === null);
  const apps = [...tools].map(([name, settings]) => {
    const section = content.apps?.[name] ?? AppSection.parse({});
    return [name, completeApp(section, settings, providers)] as const;
  });
  return {
    server: {
      ...environment.settings,
      corsOrigins: content.cors.origins,
      walletListing: content.walletListing,
      signInDomains: content.siwe.domains ?? (publicHost === null ? [] : [publicHost]),
      rateLimits: content.rateLimits,
    },
    apps: Object.fromEntries(apps),
    chains: [...chains.values()].filter((chain) => chain !== null),
    providers: Object.fromEntries(usable.map(({ name, config }) => [name, config])),
    limits: content.limits,
    retention: content.retention,
    secrets: new Hidden(Object.fromEntries(usable.map(({ name, secrets }) => [name, secrets]))),
    secretKey: environment.secretKey,
    databaseUrl: environment.databaseUrl,
    natsUrl: environment.natsUrl,
    proxies: environment.proxies,
    adminKey: environment.adminKey,
    operators: content.operators === undefined ? null : withKeySource(content.operators),
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

/** Freezes everything except `excluded`: objects of the file that change at run time, such as zod schemas. */
function deepFreeze<Value>(value: Value, excluded: ReadonlySet<unknown>): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || excluded.has(value))
    return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part, excluded);
  return value;
}
