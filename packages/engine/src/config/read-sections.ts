// Reads the engine's configuration sections, from the server's file or from the options of `createEngine`.

import type { z } from "zod";
import { Hidden } from "../core/hidden.ts";
import { AppSection } from "./app-schema.ts";
import { readChains } from "./app-tools.ts";
import { type DefaultStorage, readStorage, type StorageReader } from "./backends.ts";
import { type AppReader, checkUsers, completeApp, readApps } from "./apps.ts";
import type { EngineConfig } from "./engine-config.ts";
import { type ConfigProblem, Findings } from "./problem.ts";
import { readProviders } from "./providers.ts";
import type { Filling } from "./placeholders.ts";
import { recordOf } from "./schema-parts.ts";
import { AFTER_FILLING, describeIssues } from "./schema-problems.ts";
import type { Environment } from "./secret-variable.ts";

/** Parsed sections of the engine. */
interface EngineContent extends Pick<EngineConfig, "limits" | "retention"> {
  readonly apps?: Readonly<Record<string, AppSection>> | undefined;
}

export interface SectionReader
  extends Pick<AppReader, "inspections" | "stamps" | "directory" | "extraRigs" | "plugins"> {
  /** Name of the configuration in problem reports. */
  readonly source: string;
  /** Environment variables for provider keys and placeholders. */
  readonly environment: Environment;
  /** Environment variables that set settings of the backend and the transport. */
  readonly variables?: StorageReader["variables"];
  /** The plugins of absent sections. */
  readonly defaultStorage: DefaultStorage;
  /** Returns the sections that the engine does not read, with placeholders filled in. */
  readonly fillOthers?: (sections: Readonly<Record<string, unknown>>, filling: Filling) => object;
}

/**
 * Reads and validates the unvalidated `content`. In the result, `content` is `null` if the schema rejects it. Call
 * `complete` only if `content` is not `null` and there are no problems.
 */
export async function readSections<Content extends EngineContent>(
  content: unknown,
  schema: z.ZodType<Content>,
  { source, environment, variables = {}, defaultStorage, fillOthers, ...reader }: SectionReader,
) {
  const findings = new Findings(source);
  const sections = recordOf(content);
  const read = { environment, findings, plugins: reader.plugins };
  const { providers, problems: keyProblems, ...more } = readProviders(sections["providers"], read);
  const filling = { environment, findings, slots: null };
  const chains = readChains(sections["chains"], filling);
  const storage = readStorage(sections, { ...read, slots: null, variables }, defaultStorage);
  const { tools, section } = await readApps(sections["apps"], { ...filling, ...reader, chains, providers });
  const filled = {
    ...storage.filled,
    ...fillOthers?.(sections, filling),
    ...(section !== sections["apps"] && { apps: section }),
    ...(Object.keys(more.filled).length > 0 && {
      providers: { ...Object(sections["providers"]), ...more.filled },
    }),
  };
  const whole = Object.keys(filled).length === 0 ? content : { ...Object(content), ...filled };
  const parsed = await schema.safeParseAsync(whole, { reportInput: true });
  checkUsers(parsed.data?.apps ?? {}, findings);
  /** Omits the schema's complaint about a placeholder whose resolution has already failed. */
  const isFirst = ({ location, message }: ConfigProblem): boolean =>
    !message.startsWith(AFTER_FILLING) || findings.problems.every((other) => other.location !== location);
  const problems = (): readonly ConfigProblem[] => [
    ...describeIssues(source, schema, parsed.error?.issues ?? [], content).filter(isFirst),
    ...keyProblems,
    ...findings.problems,
  ];
  const complete = ({
    apps: parsedApps,
    limits,
    retention,
  }: EngineContent): Omit<EngineConfig, "proxies"> => {
    const usable = [...providers.values()].filter(({ unusable }) => unusable === null);
    const apps = [...tools].map(([name, settings]) => {
      const section = parsedApps?.[name] ?? AppSection.parse({});
      return [name, completeApp(section, settings, providers, reader.extraRigs)] as const;
    });
    return {
      apps: Object.fromEntries(apps),
      chains: [...chains.values()].filter((chain) => chain !== null),
      providers: Object.fromEntries(usable.map(({ name, config }) => [name, config])),
      limits,
      retention,
      plugins: reader.plugins,
      backend: storage.backend,
      transport: storage.transport,
      files: storage.files,
      secrets: new Hidden(Object.fromEntries(usable.map(({ name, secrets }) => [name, secrets]))),
    };
  };
  return { content: parsed.data ?? null, findings, problems, complete };
}

/** Freezes a configuration, except tools and plugins, whose schema objects are mutated at run time. */
export function freezeConfig<Config extends EngineConfig>(config: Config): Config {
  const tools = Object.values(config.apps).flatMap((app) => Object.values(app.tools.own));
  return deepFreeze(config, new Set<unknown>([...tools, ...config.plugins]));
}

function deepFreeze<Value>(value: Value, excluded: ReadonlySet<unknown>): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || excluded.has(value))
    return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part, excluded);
  return value;
}
