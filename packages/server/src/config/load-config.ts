import type { AppSettings, ToolSettings } from "../core/app-settings.ts";
import type { Config, LimitsConfig, RetentionConfig } from "./config.ts";
import { readEnvironment, unknownVariables, type Environment } from "./environment.ts";
import { BUILT_IN_TOOLS, ConfigFile } from "./file-schema.ts";
import { takeLaterFeatures } from "./later-features.ts";
import { checkRigs, defaultRigs } from "./models.ts";
import type { ConfigProblem } from "./problem.ts";
import { readProviders, type Provider, type ProviderReading } from "./providers.ts";
import { readConfigFile, type FileReading } from "./read-file.ts";
import { describeIssues } from "./schema-problems.ts";
import { createSecrets } from "./secrets.ts";

export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      /** Name of the configuration file, `null` when there is none. */
      readonly source: string | null;
      readonly warnings: readonly string[];
    }
  | {
      readonly ok: false;
      readonly problems: readonly ConfigProblem[];
      readonly warnings: readonly string[];
    };

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

const LIMITS: LimitsConfig = {
  turnMs: 10 * 60 * 1000,
  idleMs: 5 * 60 * 1000,
  maxSteps: 20,
  toolMs: 60 * 1000,
  maxQueued: 10,
  maxRunning: 256,
  maxWaiting: 10_000,
  memoryBytes: 256 * 1024 * 1024,
  idleMemoryMs: 30 * 60 * 1000,
  maxModelRetries: 3,
  actionMs: 10 * 60 * 1000,
};
const RETENTION: RetentionConfig = { events: 1000, eventMs: DAY };
const NO_TOOLS: ToolSettings = {
  builtIn: [],
  own: {},
  mcp: {},
  openapi: {},
  wallet: null,
  effects: {},
  approvals: {},
};
const EXPIRY: AppSettings["expiry"] = { emptyMs: HOUR, unboundMs: 30 * DAY };

/**
 * The configuration that environment and file come to, frozen, or everything that is wrong with both (contract sections 4
 * and 7). `workingDirectory` is where the file is looked for and what relative paths stand on.
 */
export async function loadConfig(input: {
  readonly environment: Environment;
  readonly workingDirectory: string;
}): Promise<LoadedConfig> {
  const environment = readEnvironment(input.environment, input.workingDirectory);
  const file = await readConfigFile(environment.configPath, input.workingDirectory);
  const checked = checkFile(file, input.environment);
  const problems = [...environment.problems, ...file.problems, ...checked.problems];
  if (problems.length > 0 || checked.content === null) {
    return { ok: false, problems, warnings: [...environment.warnings, ...file.warnings] };
  }

  const { content, providers } = checked;
  const walletListing = content.walletListing ?? "on";
  const config: Config = {
    server: { ...environment.settings, corsOrigins: content.cors?.origins ?? [], walletListing },
    apps: { default: completeApp(content.apps?.default ?? {}, providers.providers) },
    providers: Object.fromEntries(usable(providers).map(({ name, config }) => [name, config])),
    limits: { ...LIMITS, ...defined(content.limits) },
    retention: { ...RETENTION, ...defined(content.retention) },
    secrets: createSecrets(Object.fromEntries(usable(providers).map(({ name, secrets }) => [name, secrets]))),
    secretKey: environment.secretKey,
  };
  const warnings = [
    ...environment.warnings,
    ...unknownVariables(input.environment, providers.variables),
    ...file.warnings,
    ...providers.warnings,
    ...exposureWarnings(config),
  ];
  return { ok: true, config: deepFreeze(config), source: file.source, warnings };
}

interface CheckedFile {
  /** `null` when something is wrong with it. */
  readonly content: ConfigFile | null;
  readonly providers: ProviderReading;
  readonly problems: readonly ConfigProblem[];
}

function checkFile(file: FileReading, environment: Environment): CheckedFile {
  const source = file.source ?? "";
  if (file.source === null || file.problems.length > 0) {
    const providers = readProviders(source, undefined, environment);
    return { content: {}, providers, problems: providers.problems };
  }
  const later = takeLaterFeatures(source, file.content);
  const parsed = ConfigFile.safeParse(later.content, { reportInput: true });
  const providers = readProviders(source, field(file.content, "providers"), environment);
  const problems = [
    ...later.problems,
    ...describeIssues(source, ConfigFile, parsed.error?.issues ?? []),
    ...providers.problems,
    ...checkRigs(source, "default", field(field(file.content, "apps"), "default"), providers.providers),
  ];
  return { content: parsed.data ?? null, providers, problems };
}

function completeApp(
  section: NonNullable<NonNullable<ConfigFile["apps"]>["default"]>,
  providers: ReadonlyMap<string, Provider>,
): AppSettings {
  const models = section.models ?? defaultRigs(providers);
  return {
    description: section.description ?? null,
    models,
    utilityModel: section.utilityModel ?? models[0] ?? "demo/assistant",
    instructions: section.instructions ?? null,
    tools: { ...NO_TOOLS, builtIn: [...new Set(section.tools ?? BUILT_IN_TOOLS)] },
    onBusy: section.onBusy ?? "enqueue",
    expiry: { ...EXPIRY, ...defined(section.expiry) },
    secrets: [],
    requireKey: "chat",
  };
}

function usable({ providers }: ProviderReading): readonly Provider[] {
  return [...providers.values()].filter((provider) => provider.unusable === null);
}

function exposureWarnings({ server }: Config): readonly string[] {
  if (server.loopback || server.walletListing === "off") return [];
  return [
    `HOST is ${server.host}, so other machines can reach the service, and whoever knows a wallet's address can list ` +
      `the threads of that wallet. Set walletListing to "off" in the configuration file to close the list.`,
  ];
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

type Defined<Section> = { [Key in keyof Section]?: Exclude<Section[Key], undefined> };

/** The section without the settings that are absent, so that it can be laid over defaults. */
function defined<Section extends object>(section: Section | undefined): Defined<Section> {
  const entries = Object.entries(section ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<Section>;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
