// Which providers there are, with their keys: the known ones, and those that the configuration file adds or changes.

import { z } from "zod";
import { PROVIDER_KINDS, type ProviderConfig, type ProviderKind } from "./config.ts";
import type { Environment } from "./environment.ts";
import { ProviderSection } from "./file-schema.ts";
import type { Findings } from "./findings.ts";
import { DEMO_PROVIDER, KNOWN_PROVIDERS } from "./known-providers.ts";
import { fillHeaders } from "./placeholders.ts";
import type { ConfigProblem } from "./problem.ts";
import { BASE_URL_RULE, isBaseURL } from "./schema-parts.ts";
import type { ProviderSecrets } from "./secrets.ts";

export interface Provider {
  readonly name: string;
  readonly config: ProviderConfig;
  readonly secrets: ProviderSecrets;
  /** Why its models cannot be used now, as a sentence; `null` when they can. */
  readonly unusable: string | null;
}

export interface ProviderReading {
  /** By name. One whose section is wrong is here as well, so that its models are not reported too. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** What is wrong with addresses that the environment names. */
  readonly problems: readonly ConfigProblem[];
}

type Section = z.infer<typeof ProviderSection>;

/** Reads `section`, the file's `providers` as it stands, unchecked. Its shape is the schema's business, not this one's. */
export function readProviders(
  section: unknown,
  environment: Environment,
  findings: Findings,
): ProviderReading {
  const filling = { environment, findings, slots: null };
  const providers = new Map<string, Provider>();
  for (const { name } of KNOWN_PROVIDERS) providers.set(name, readProvider(name, name, {}, environment));

  const entries = z.record(z.string(), z.unknown()).safeParse(section).data ?? {};
  for (const [name, entry] of Object.entries(entries)) {
    const parsed = ProviderSection.safeParse(entry).data;
    const kind = parsed?.kind ?? knownKind(name);
    const wrong = parsed === undefined ? [] : contradictions(name, kind, parsed);
    for (const message of wrong) findings.problem(["providers", name], message);
    const headers = fillHeaders(parsed?.headers, ["providers", name, "headers"], filling);
    const section = { ...parsed, headers };
    const provider = readProvider(name, kind ?? "openai-compatible", section, environment);
    const sound = parsed !== undefined && wrong.length === 0;
    providers.set(name, sound ? provider : { ...provider, unusable: null });
    if (parsed?.apiKeyEnv === undefined) continue;
    findings.variables.add(parsed.apiKeyEnv);
    if (sound && provider.secrets.apiKey === null && provider.unusable === null) {
      findings.warn(
        ["providers", name, "apiKeyEnv"],
        `${parsed.apiKeyEnv} is not set; requests go without a key.`,
      );
    }
  }
  return { providers, problems: wrongAddresses(providers, environment) };
}

function readProvider(
  name: string,
  kind: ProviderKind,
  section: Section,
  environment: Environment,
): Provider {
  const known = KNOWN_PROVIDERS.find((provider) => provider.name === kind)?.keyVariables ?? [];
  const sources = section.apiKeyEnv === undefined ? known : [section.apiKeyEnv];
  const keys = sources.map((variable) => environment[variable]?.trim() ?? "");
  const apiKey = keys.find((key) => key !== "") ?? null;
  const baseURL = section.baseURL ?? usualAddress(kind, section, environment);
  return {
    name,
    config: {
      kind,
      ...(baseURL !== undefined && { baseURL }),
      ...(section.maxRunningTurns !== undefined && { maxRunningTurns: section.maxRunningTurns }),
      ...(section.contextWindow !== undefined && { contextWindow: section.contextWindow }),
    },
    secrets: { apiKey, headers: section.headers ?? {} },
    unusable:
      known.length > 0 && apiKey === null
        ? `needs an API key: set ${sources.join(" or ")}, or take the model out of the list.`
        : null,
  };
}

/**
 * The address that the provider's usual variable names. It belongs to the usual key: where a section names another key or address, the
 * variable says nothing, so that no key goes to an address that it was not meant for.
 */
function usualAddress(kind: ProviderKind, section: Section, environment: Environment): string | undefined {
  const address = KNOWN_PROVIDERS.find((provider) => provider.name === kind)?.address ?? null;
  if (address === null || section.apiKeyEnv !== undefined) return undefined;
  const text = environment[address.variable]?.trim().replace(/\/+$/, "") ?? "";
  if (text === "") return undefined;
  const isComplete = address.version === null || /\/v\d+[a-z0-9]*$/.test(text);
  return isComplete ? text : `${text}/${address.version}`;
}

/** What is wrong with the addresses that the environment names, where a provider is used that takes its own from there. */
function wrongAddresses(
  providers: ReadonlyMap<string, Provider>,
  environment: Environment,
): readonly ConfigProblem[] {
  return KNOWN_PROVIDERS.flatMap(({ name, address }) => {
    const named = usualAddress(name, {}, environment);
    if (address === null || named === undefined || isBaseURL(named)) return [];
    const isUsed = [...providers.values()].some(
      ({ config, unusable }) => config.kind === name && config.baseURL === named && unusable === null,
    );
    return isUsed ? [{ source: "environment", place: address.variable, message: `${BASE_URL_RULE}.` }] : [];
  });
}

/** What is wrong with a section whose every setting is right by itself. */
function contradictions(name: string, kind: ProviderKind | undefined, section: Section): readonly string[] {
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
  const needless = ["baseURL", "apiKeyEnv", "headers", "contextWindow"].filter((key) => key in section);
  if (kind === DEMO_PROVIDER && needless.length > 0) {
    found.push(`is the demo model, which calls nobody. Take out ${needless.join(", ")}.`);
  }
  return found;
}

function knownKind(name: string): ProviderKind | undefined {
  return KNOWN_PROVIDERS.find((provider) => provider.name === name)?.name;
}
