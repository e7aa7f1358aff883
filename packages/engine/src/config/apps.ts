// Reads the Apps of the configuration file and finds problems that the schema cannot.

import { z } from "zod";
import type { AppSettings, OwnTool, ToolSettings } from "../core/app-settings.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { AppSection, KeySource, OperatorsSection } from "./app-schema.ts";
import { readTools, type ToolReader } from "./app-tools.ts";
import { DEMO_MODEL, KNOWN_PROVIDERS, type Provider } from "./providers.ts";
import type { Findings } from "./problem.ts";
import { suggestion } from "../core/nearest-name.ts";
import { recordOf } from "./schema-parts.ts";
import { readSources, type SourceReader } from "./sources.ts";

const DAY_MS = 24 * 60 * 60_000;

/** Checks that need the tools' runtime, passed in by the caller. They never reject. */
export interface Inspections {
  /** Returns why a custom tool cannot be used, or `null` if it can. */
  readonly ownTool: (name: string, tool: OwnTool) => Promise<string | null>;
  /** Returns why wallets cannot be used, or `null` if they can. */
  readonly wallet: () => string | null;
}

export interface AppReader extends Omit<ToolReader & SourceReader, "path" | "slots"> {
  readonly providers: ReadonlyMap<string, Provider>;
  /** `null` limits the checks to the shape of custom tools. */
  readonly inspections: Inspections | null;
  /** Models besides those of providers, as rigs. Absent for none. */
  readonly extraRigs?: readonly string[];
}

interface AppsReading {
  /** Tool settings by App name, always with `default`, read before the whole file is known to be valid. */
  readonly tools: ReadonlyMap<string, ToolSettings>;
  /** The section with the placeholders of plugins filled in. */
  readonly section: unknown;
}

/** Reads the unvalidated `apps` section. */
export async function readApps(section: unknown, reader: AppReader): Promise<AppsReading> {
  const entries = Object.entries(recordOf(section));
  const sections = entries.some(([name]) => name === DEFAULT_APP)
    ? entries
    : [[DEFAULT_APP, {}] as const, ...entries];
  const tools = new Map<string, ToolSettings>();
  const written: Record<string, unknown> = { ...Object(section) };
  let isFilled = false;
  for (const [name, entry] of sections) {
    const app = recordOf(entry);
    const path = ["apps", name];
    checkRigs(path, app, reader);
    const inApp = { ...reader, path, slots: readSlots(app["secrets"], path, reader) };
    const sources = await readSources(app, inApp);
    if (sources.written.length > 0) {
      isFilled = true;
      written[name] = { ...Object(entry), ...sources.filled };
    }
    const settings = readTools(app, sources, inApp);
    await checkOwnTools(settings, path, reader);
    const missing = settings.wallet === null ? null : (reader.inspections?.wallet() ?? null);
    if (missing !== null) reader.findings.problem([...path, "wallet"], missing);
    if (name === DEFAULT_APP && app["requireKey"] === "all") {
      reader.findings.problem(
        [...path, "requireKey"],
        `The App "${DEFAULT_APP}" never needs a key. Use another App for anything that needs a key.`,
      );
    }
    tools.set(
      name,
      Object.hasOwn(recordOf(section), name) ? settings : { ...settings, isUnconfigured: true },
    );
  }
  return { tools, section: isFilled ? written : section };
}

/**
 * Reports Apps besides the default one with the same issuer and audience: a token of one would open the
 * other, as an App's key does. Any App may share them with the default one, which needs no key.
 */
export function checkUsers(apps: Readonly<Record<string, AppSection>>, findings: Findings): void {
  const seen = new Map<string, string>();
  for (const [name, { users }] of Object.entries(apps)) {
    if (users === undefined || name === DEFAULT_APP) continue;
    const pair = JSON.stringify([users.issuer, users.audience]);
    const other = seen.get(pair);
    seen.set(pair, name);
    if (other === undefined) continue;
    const message = `has the issuer and audience of the App "${other}". Give each App an audience of its own.`;
    findings.problem(["apps", name, "users"], message);
  }
}

/**
 * Reports an App whose users' tokens have the issuer and audience of the operators': those must never open
 * the admin API.
 */
export function checkOperators(
  operators: z.output<typeof OperatorsSection> | undefined,
  apps: Readonly<Record<string, AppSection>>,
  findings: Findings,
): void {
  if (operators === undefined) return;
  const app = Object.entries(apps).find(
    ([, { users }]) =>
      users !== undefined && users.issuer === operators.issuer && users.audience === operators.audience,
  );
  if (app === undefined) return;
  const message = `has the issuer and audience of the users of the App "${app[0]}". Give operators an audience of their own.`;
  findings.problem(["operators"], message);
}

/** Returns the settings of a valid App section. */
export function completeApp(
  section: AppSection,
  tools: ToolSettings,
  providers: ReadonlyMap<string, Provider>,
  extraRigs: readonly string[] = [],
): AppSettings {
  const {
    description = null,
    compaction,
    instructions = null,
    suggestions,
    branding,
    onBusy,
    expiry,
    secrets,
    requireKey,
    users,
    wallets,
    rateLimits,
  } = section;
  const models = section.models ?? [...extraRigs, ...defaultRigs(providers)];
  const utilityModel = section.utilityModel ?? models[0] ?? "demo/assistant";
  const settings = {
    description,
    models,
    utilityModel,
    compaction,
    instructions,
    suggestions,
    branding,
    tools,
  };
  return {
    ...settings,
    onBusy,
    expiry: section.retention === undefined ? expiry : atMost(section.retention * DAY_MS, expiry),
    secrets,
    requireKey,
    users: users === undefined ? null : withKeySource(users),
    wallets,
    rateLimits,
  };
}

function atMost(ms: number, { emptyMs, unboundMs }: AppSection["expiry"]): AppSettings["expiry"] {
  return { emptyMs: Math.min(emptyMs, ms), unboundMs: Math.min(unboundMs, ms), boundMs: ms };
}

/** Returns the section with `null` for what is absent. */
export function withKeySource<Section extends KeySource>(section: Section) {
  return { ...section, jwksUri: section.jwksUri ?? null, keys: section.keys ?? null };
}

/**
 * Returns the names of the App's slots, or `"any"` if the section is invalid, so that references to slots are
 * not reported too.
 */
function readSlots(section: unknown, path: readonly string[], { findings }: AppReader): string[] | "any" {
  if (section === undefined) return [];
  const slots = z.array(z.object({ name: z.string() })).safeParse(section).data;
  if (slots === undefined) return "any";
  const names = slots.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) === index) continue;
    findings.problem([...path, "secrets", index, "name"], `"${name}" is in the list already.`);
  }
  return names;
}

/** Reports custom tools that cannot be offered to a model; otherwise they would silently be missing. */
async function checkOwnTools(
  { own }: ToolSettings,
  path: readonly string[],
  { findings, inspections }: AppReader,
): Promise<void> {
  for (const [name, tool] of Object.entries(own)) {
    const reason = (await inspections?.ownTool(name, tool)) ?? null;
    if (reason !== null) findings.problem([...path, "tools", name], reason);
  }
}

const Section = z.object({
  models: z.array(z.unknown()).optional().catch([]),
  utilityModel: z.unknown().optional(),
});

/**
 * Finds problems with the rigs of an App's unvalidated section at `path`: an unknown provider, one without a key, or a
 * duplicate rig. The schema validates their shape separately.
 */
function checkRigs(
  path: readonly string[],
  section: unknown,
  { providers, findings, extraRigs = [] }: AppReader,
): void {
  const { models = [], utilityModel } = Section.safeParse(section).data ?? {};
  const rigs = [
    ...models.map((rig, index) => ({
      rig,
      location: ["models", index],
      isDuplicate: models.indexOf(rig) < index,
    })),
    { rig: utilityModel, location: ["utilityModel"], isDuplicate: false },
  ];
  for (const { rig, location, isDuplicate } of rigs) {
    if (typeof rig !== "string" || !rig.includes("/") || extraRigs.includes(rig)) continue;
    const message = isDuplicate ? `"${rig}" is in the list already.` : providerProblem(rig, providers);
    if (message !== null) findings.problem([...path, ...location], message);
  }
}

function providerProblem(rig: string, providers: ReadonlyMap<string, Provider>): string | null {
  const name = rig.slice(0, rig.indexOf("/"));
  const provider = providers.get(name);
  if (provider === undefined) {
    return `"${rig}" names the provider "${name}", which is not configured.${suggestion(name, [...providers.keys()])}`;
  }
  if (provider.config.kind === "demo" && rig !== `${name}/${DEMO_MODEL}`) {
    return `"${rig}" is not a model: the only demo model is "${name}/${DEMO_MODEL}".`;
  }
  return provider.unusable === null ? null : `"${rig}" ${provider.unusable}`;
}

/** Returns the rigs of an App that lists none: one per usable known provider, the demo model last. */
function defaultRigs(providers: ReadonlyMap<string, Provider>): readonly string[] {
  return KNOWN_PROVIDERS.filter(({ name }) => providers.get(name)?.unusable === null).map(
    ({ defaultRig }) => defaultRig,
  );
}
