// Reads the providers and their keys: the known ones, and those that the configuration file adds or changes.

import type { z } from "zod";
import type { ProviderConfig, ProviderKind, ProviderSecrets } from "./engine-config.ts";
import { COMPATIBLE_SETTINGS, PROVIDER_KINDS, pluginProviderSection, ProviderSection } from "./sections.ts";
import type { Findings, ConfigProblem } from "./problem.ts";
import { fillHeaders, fillPlaceholders, type Filling } from "./placeholders.ts";
import { Hidden } from "../core/hidden.ts";
import { isModelProvider, type ModelProviderPlugin } from "../core/plugins/model-provider.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import { BASE_URL_RULE, isBaseURL } from "../core/setting-schemas.ts";
import { recordOf } from "./schema-parts.ts";
import { readSecret, type Environment } from "./secret-variable.ts";
import { fillTexts } from "./sources.ts";

/** The environment variable that usually holds the base URL of a provider. */
interface KnownAddress {
  readonly variable: string;
  /** Version that the provider's own tools append to the URL. It is appended here too, unless the URL ends in a version. */
  readonly version: string | null;
}

interface KnownProvider {
  readonly name: ProviderKind;
  /** Environment variables that usually hold its key; the first that is set wins. Empty for a provider without a key. */
  readonly keyVariables: readonly string[];
  readonly address: KnownAddress | null;
  /** The rig that it offers if no configuration file lists models. */
  readonly defaultRig: string;
}

/** Name of the provider that is always available. */
const DEMO_PROVIDER = "demo";
/** The demo provider's only model. */
export const DEMO_MODEL = "assistant";

/**
 * Providers that need no entry in a configuration file. The default models are those that the documentation of the installed
 * AI SDK packages uses for everyday chat; they are a starting point, to be changed when the packages are upgraded.
 * The demo comes last, so that it is the default only if no other provider is configured.
 */
export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  {
    name: "openai",
    keyVariables: ["OPENAI_API_KEY"],
    address: { variable: "OPENAI_BASE_URL", version: null },
    defaultRig: "openai/gpt-6-astra",
  },
  {
    name: "anthropic",
    keyVariables: ["ANTHROPIC_API_KEY"],
    address: { variable: "ANTHROPIC_BASE_URL", version: "v1" },
    defaultRig: "anthropic/claude-sonnet-5-5",
  },
  {
    name: "google",
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    address: { variable: "GOOGLE_GEMINI_BASE_URL", version: "v1beta" },
    defaultRig: "google/gemini-4-argon",
  },
  { name: DEMO_PROVIDER, keyVariables: [], address: null, defaultRig: "demo/assistant" },
];

export interface Provider {
  readonly name: string;
  readonly config: ProviderConfig;
  readonly secrets: ProviderSecrets;
  /** Why the provider's models cannot be used, as a sentence; `null` if they can. */
  readonly unusable: string | null;
}

type Section = z.infer<typeof ProviderSection>;

/**
 * Reads the unvalidated `providers` section; the schema validates its shape separately. The result includes providers with
 * an invalid section, so that their models are not reported too, and the problems with keys and base URLs in the environment.
 */
export function readProviders(section: unknown, { environment, findings, plugins }: ProviderReader) {
  const kinds = plugins.filter(isModelProvider);
  const filled: Record<string, unknown> = {};
  const filling = { environment, findings, slots: null };
  const providers = new Map<string, Provider>();
  for (const { name } of KNOWN_PROVIDERS) providers.set(name, readProvider(name, name, {}, environment));
  for (const [name, entry] of Object.entries(recordOf(section))) {
    const own = kinds.find((plugin) => plugin.name === (recordOf(entry)["kind"] ?? name));
    if (own !== undefined) {
      const { content, provider } = readPluginProvider(name, entry, own, filling);
      filled[name] = content;
      providers.set(name, provider);
      continue;
    }
    const parsed = ProviderSection.safeParse(entry).data;
    const kind = parsed?.kind ?? knownKind(name);
    const contradictions = parsed === undefined ? [] : findContradictions(name, kind, parsed);
    for (const message of contradictions) findings.problem(["providers", name], message);
    const headers = fillHeaders(parsed?.headers, ["providers", name, "headers"], filling);
    const section = { ...parsed, headers };
    const provider = readProvider(name, kind ?? "openai-compatible", section, environment);
    const isValid = parsed !== undefined && contradictions.length === 0;
    providers.set(name, isValid ? provider : { ...provider, unusable: null });
    if (parsed?.apiKeyEnv === undefined) continue;
    findings.variables.add(parsed.apiKeyEnv);
    if (isValid && provider.secrets.apiKey === null && provider.unusable === null) {
      findings.warn(
        ["providers", name, "apiKeyEnv"],
        `${parsed.apiKeyEnv} is not set; requests are sent without a key.`,
      );
    }
  }
  const usualKeys = KNOWN_PROVIDERS.flatMap(({ keyVariables }) => keyVariables);
  const problems = [
    ...keyProblems([...usualKeys, ...findings.variables], environment),
    ...baseURLProblems(providers, environment),
  ];
  return { providers, problems, filled };
}

interface ProviderReader {
  readonly environment: Environment;
  readonly findings: Findings;
  readonly plugins: readonly Plugin[];
}

/** Reads a provider of a plugin. `content` has the placeholders of the plugin's settings filled in. */
function readPluginProvider(name: string, entry: unknown, plugin: ModelProviderPlugin, filling: Filling) {
  const path = ["providers", name];
  const section = recordOf(entry);
  const own = Object.keys(plugin.settings?.shape ?? {}).filter((key) => section[key] !== undefined);
  const secrets: string[] = [];
  const values = own.map((key) => [
    key,
    fillTexts(section[key], [...path, key], (text, at) => {
      const value = fillPlaceholders(text, at, filling);
      if (value !== text) secrets.push(value);
      return value;
    }),
  ]);
  const content = { ...Object(entry), ...Object.fromEntries(values) } as Readonly<Record<string, unknown>>;
  const parsed = pluginProviderSection(plugin).safeParse(content).data;
  const settings = Object.fromEntries(own.map((key) => [key, (parsed as typeof content | undefined)?.[key]]));
  const { apiKeyEnv, baseURL, maxRunningTurns, contextWindow } = parsed ?? {};
  if (apiKeyEnv !== undefined) filling.findings.variables.add(apiKeyEnv);
  const reading = apiKeyEnv === undefined ? { text: "" } : readSecret(filling.environment, apiKeyEnv);
  const apiKey = "text" in reading && reading.text !== "" ? reading.text : null;
  const provider: Provider = {
    name,
    config: {
      kind: "plugin",
      plugin: {
        plugin,
        settings: new Hidden({ ...plugin.settings?.safeParse(settings).data }),
        secrets: new Hidden(secrets),
      },
      ...(baseURL !== undefined && { baseURL }),
      ...(maxRunningTurns !== undefined && { maxRunningTurns }),
      ...(contextWindow !== undefined && { contextWindow }),
    },
    secrets: { apiKey, headers: fillHeaders(parsed?.headers, [...path, "headers"], filling) },
    unusable:
      parsed !== undefined && apiKeyEnv !== undefined && apiKey === null
        ? `needs an API key: set ${apiKeyEnv}, or remove the model from the list.`
        : null,
  };
  return { content, provider };
}

function readProvider(
  name: string,
  kind: ProviderKind,
  section: Section,
  environment: Environment,
): Provider {
  const known = KNOWN_PROVIDERS.find((provider) => provider.name === kind)?.keyVariables ?? [];
  const sources = section.apiKeyEnv === undefined ? known : [section.apiKeyEnv];
  const readings = sources.map((variable) => readSecret(environment, variable));
  const apiKey = readings.flatMap((reading) => ("text" in reading && reading.text) || [])[0] ?? null;
  const baseURL = section.baseURL ?? usualBaseURL(kind, section, environment);
  const { kind: _kind, apiKeyEnv: _key, headers: _headers, ...settings } = section;
  return {
    name,
    config: { ...settings, kind, ...(baseURL !== undefined && { baseURL }) },
    secrets: { apiKey, headers: section.headers ?? {} },
    unusable:
      known.length > 0 && apiKey === null
        ? `needs an API key: set ${sources.join(" or ")}, or remove the model from the list.`
        : null,
  };
}

/**
 * Returns the base URL from the provider's usual variable. It belongs to the usual key: a section with another key or
 * base URL ignores the variable, so that no key is sent to a URL it is not meant for.
 */
function usualBaseURL(kind: ProviderKind, section: Section, environment: Environment): string | undefined {
  const address = KNOWN_PROVIDERS.find((provider) => provider.name === kind)?.address ?? null;
  if (address === null || section.apiKeyEnv !== undefined) return undefined;
  const text = environment[address.variable]?.trim().replace(/\/+$/, "") ?? "";
  if (text === "") return undefined;
  const isComplete = address.version === null || /\/v\d+[a-z0-9]*$/.test(text);
  return isComplete ? text : `${text}/${address.version}`;
}

/** Returns the problems with keys that are read from files. */
function keyProblems(variables: readonly string[], environment: Environment): readonly ConfigProblem[] {
  return [...new Set(variables)].flatMap((location) => {
    const reading = readSecret(environment, location);
    return "problem" in reading ? [{ source: "environment", location, message: reading.problem }] : [];
  });
}

/** Returns the problems with base URLs from the environment of the providers that use them. */
function baseURLProblems(
  providers: ReadonlyMap<string, Provider>,
  environment: Environment,
): readonly ConfigProblem[] {
  return KNOWN_PROVIDERS.flatMap(({ name, address }) => {
    const named = usualBaseURL(name, {}, environment);
    if (address === null || named === undefined || isBaseURL(named)) return [];
    const isUsed = [...providers.values()].some(
      ({ config, unusable }) => config.kind === name && config.baseURL === named && unusable === null,
    );
    return isUsed
      ? [{ source: "environment", location: address.variable, message: `${BASE_URL_RULE}.` }]
      : [];
  });
}

/** Returns the contradictions in a section whose settings are each valid. */
function findContradictions(
  name: string,
  kind: ProviderKind | undefined,
  section: Section,
): readonly string[] {
  const found: string[] = [];
  if (kind === undefined) {
    found.push(`needs a "kind": one of ${PROVIDER_KINDS.join(", ")}.`);
  }
  if (kind === "openai-compatible" && section.baseURL === undefined) {
    found.push(`needs a "baseURL", such as http://127.0.0.1:11434/v1 for Ollama.`);
  }
  if (name === DEMO_PROVIDER && kind !== DEMO_PROVIDER) {
    found.push(`is the name of the built-in demo model. Choose another name.`);
  }
  const needless = Object.keys(section).filter((key) => key !== "kind" && key !== "maxRunningTurns");
  if (kind === DEMO_PROVIDER && needless.length > 0) {
    found.push(`is the demo model, which calls no API. Remove ${needless.join(", ")}.`);
  }
  const foreign = COMPATIBLE_SETTINGS.filter((key) => key in section);
  if (kind !== undefined && kind !== "openai-compatible" && kind !== DEMO_PROVIDER && foreign.length > 0) {
    found.push(`is of kind ${kind}. Remove ${foreign.join(", ")}, which only "openai-compatible" has.`);
  }
  return found;
}

function knownKind(name: string): ProviderKind | undefined {
  return KNOWN_PROVIDERS.find((provider) => provider.name === name)?.name;
}
