// Provides the tools of each App, from all its sources, to turns.

import type { AdminToolSource } from "@colloquy/protocol";
import type { AppSettings } from "../core/app-settings.ts";
import type { JsonObject } from "../core/json.ts";
import {
  type ClientResults,
  type ToolSourceReports,
  type PolicyDecision,
  type ToolCallOptions,
  type ToolDefinition,
  type ToolOutcome,
  type Toolset,
  type ToolTurn,
  type TurnTools,
  SecretMissing,
} from "../core/ports/driven/tool.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretVault, OpenSecrets } from "../core/ports/driven/secret-store.ts";
import { decideCall } from "./policy-decision.ts";
import { callTool, reportedResult, type CallScope } from "./call-tool.ts";
import { type MergedTools, NO_TOOLS, ToolMerger } from "./merged-tools.ts";
import {
  standInAnswer,
  type SourcePlan,
  type SourceTool,
  type ToolScope,
  type ToolSource,
} from "./tool-source.ts";
import { createScrubber } from "./scrub.ts";

type AppsByName = Readonly<Record<string, Pick<AppSettings, "tools" | "secrets">>>;

export interface AppToolsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `null` if the service stores no secrets: every secret is then missing. */
  readonly vault: SecretVault | null;
  /**
   * Returns the sources of an App's tools. Of two tools with the same name, the tool of the earlier source
   * wins.
   */
  readonly plan: (app: string, settings: Pick<AppSettings, "tools">) => readonly SourcePlan[];
  /** Called when every source is closed; absent if the sources share nothing. */
  readonly onClosed?: () => Promise<void>;
}

interface App {
  readonly settings: AppsByName[string];
  readonly declared: ReadonlySet<string>;
  readonly merger: ToolMerger;
  readonly sources: ReadonlyArray<{ readonly key: string | null; readonly source: ToolSource }>;
}

const NO_TURN: Omit<ToolTurn, "app"> = {
  model: "",
  clientId: null,
  publicKey: null,
  walletId: null,
  walletProved: false,
  userState: null,
};
const NO_LIST: readonly SourceTool[] = [];

/** The tools of a running service's Apps. Sources connect when a turn first needs them. */
export class AppTools implements Toolset, ToolSourceReports, ClientResults {
  readonly #options: AppToolsOptions;
  #apps: ReadonlyMap<string, App> = new Map();
  /** Sources replaced by a reload. Weak, because only running turns still need them. */
  #retired: readonly WeakRef<ToolSource>[] = [];
  readonly #reports: SourceReports;

  constructor(apps: AppsByName, options: AppToolsOptions) {
    this.#options = options;
    this.#reports = new SourceReports(options.clock);
    this.replace(apps);
  }

  /**
   * Applies new settings. Running turns keep their tools, and a source whose settings have not changed keeps
   * its connections.
   */
  replace(apps: AppsByName): void {
    const before = this.#apps;
    const kept = new Set<ToolSource>();
    const entries = Object.entries(apps).map(([name, settings]) => {
      const old = before.get(name)?.sources ?? [];
      const app = this.#build(name, settings, old);
      for (const { source } of app.sources) kept.add(source);
      return [name, app] as const;
    });
    this.#apps = new Map(entries);
    const replaced = [...before.values()]
      .flatMap(({ sources }) => sources.map(({ source }) => source))
      .filter((source) => !kept.has(source));
    for (const source of replaced) source.retire?.();
    const used = this.#retired.filter((source) => source.deref() !== undefined);
    this.#retired = [...used, ...replaced.map((source) => new WeakRef(source))];
  }

  async open(turn: ToolTurn, signal: AbortSignal): Promise<TurnTools> {
    const { clock, logger, vault } = this.#options;
    const app = this.#apps.get(turn.app);
    const scope = await openScope(turn, { declared: app?.declared ?? new Set(), vault, logger });
    if (app === undefined) return new ToolsOfTurn(NO_TOOLS, { scope, clock, approvals: {} });
    const lists = app.sources.map(({ source }) => this.#list(source, scope, signal));
    const joined = app.merger.merge(await Promise.all(lists));
    return new ToolsOfTurn(joined, { scope, clock, approvals: app.settings.tools.approvals });
  }

  async cleanResult(
    { app, clientId }: Pick<ToolTurn, "app" | "clientId">,
    result: JsonObject,
  ): Promise<JsonObject> {
    const { logger, vault } = this.#options;
    const declared = this.#apps.get(app)?.declared ?? new Set();
    return reportedResult(
      result,
      await openScope({ ...NO_TURN, app, clientId }, { declared, vault, logger }),
    );
  }

  async refresh(app: string): Promise<void> {
    await this.open({ ...NO_TURN, app }, new AbortController().signal);
  }

  sources(app: string): readonly AdminToolSource[] {
    const sources = this.#apps.get(app)?.sources ?? [];
    return sources
      .filter(({ source }) => source.isInternal !== true)
      .map(({ source }) => this.#reports.of(source));
  }

  /** Closes every connection. No source opens one afterwards. */
  async close(): Promise<void> {
    const sources = [...this.#apps.values()].flatMap((app) => app.sources.map(({ source }) => source));
    this.#apps = new Map();
    const retired = this.#retired.flatMap((source) => source.deref() ?? []);
    this.#retired = [];
    await Promise.allSettled([...sources, ...retired].map(async (source) => source.close?.()));
    await this.#options.onClosed?.();
  }

  #build(name: string, settings: AppsByName[string], old: App["sources"]): App {
    const sources = this.#options.plan(name, settings).map(({ key, create }) => {
      const same = key === null ? undefined : old.find((candidate) => candidate.key === key);
      return same ?? { key, source: create() };
    });
    const declared = new Set(settings.secrets.map((slot) => slot.name));
    const merger = new ToolMerger(name, settings.tools, this.#options.logger);
    return { settings, declared, merger, sources };
  }

  async #list(source: ToolSource, scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]> {
    try {
      const tools = await source.list(scope, signal);
      // A cancelled turn did not wait for the source, so its list does not show the source's state.
      if (!signal.aborted) this.#reports.noteList(source, tools);
      return tools;
    } catch (error) {
      this.#reports.noteFailure(source, "Its tools cannot be listed. The log says why.");
      const fields = { app: scope.turn.app, source: source.label, err: error };
      this.#options.logger.warn(fields, "skipped a tool source in a turn");
      return NO_LIST;
    }
  }
}

interface TurnOptions {
  readonly scope: CallScope;
  readonly clock: Clock;
  readonly approvals: AppSettings["tools"]["approvals"];
}

class ToolsOfTurn implements TurnTools {
  readonly #tools: MergedTools;
  readonly #options: TurnOptions;

  constructor(tools: MergedTools, options: TurnOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  get definitions(): readonly ToolDefinition[] {
    return this.#tools.definitions;
  }

  async decide(name: string, input: unknown): Promise<PolicyDecision> {
    const callable = this.#tools.byName.get(name);
    if (callable === undefined) return { kind: "deny", ...this.#notThere(name) };
    const { scope, clock, approvals } = this.#options;
    const rule = (Object.hasOwn(approvals, name) ? approvals[name] : undefined) ?? "never";
    return await decideCall(callable, input, { rule, scope, clock });
  }

  async call(name: string, input: unknown, options: ToolCallOptions): Promise<ToolOutcome> {
    const callable = this.#tools.byName.get(name);
    return callable === undefined
      ? this.#notThere(name)
      : await callTool(callable, input, this.#options.scope, options);
  }

  #notThere(name: string): ToolOutcome {
    const standIn = standInAnswer(name, this.#tools.byName);
    if (standIn !== null) return standIn;
    const names = [...this.#tools.byName.keys()];
    const offer = names.length === 0 ? "There are no tools." : `The tools are ${names.join(", ")}.`;
    return { output: `There is no tool with this name. ${offer}`, isError: true };
  }
}

/** The last observed state of a source. */
type Look = Omit<AdminToolSource, "name">;

const UNUSED: Look = { state: "unused", tools: null, problem: null, seen_at: null };

/** Reports on tool sources for operators, from the observations of turns. A report sends no request. */
class SourceReports {
  readonly #clock: Pick<Clock, "now">;
  readonly #looks = new WeakMap<ToolSource, Look>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  noteList(source: ToolSource, tools: readonly SourceTool[]): void {
    const standIn = tools.find(({ standsInFor }) => standsInFor !== undefined)?.standsInFor;
    // A secret that a client has not set, or set wrongly, does not show the source's state.
    if (standIn?.isClientSpecific === true) return;
    if (standIn === undefined) this.#note(source, { state: "working", tools: tools.length, problem: null });
    else this.noteFailure(source, standIn.reason);
  }

  noteFailure(source: ToolSource, problem: string): void {
    this.#note(source, { state: "failing", tools: 0, problem });
  }

  of(source: ToolSource): AdminToolSource {
    return { name: source.label, ...(this.#looks.get(source) ?? UNUSED) };
  }

  #note(source: ToolSource, look: Omit<Look, "seen_at">): void {
    this.#looks.set(source, { ...look, seen_at: new Date(this.#clock.now()).toISOString() });
  }
}

interface SecretOptions extends Pick<AppToolsOptions, "vault" | "logger"> {
  /** Names of the secrets that the App declares. */
  readonly declared: ReadonlySet<string>;
}

/** Opens the client's secrets for the App. Never rejects: unreadable secrets fail when a tool needs them. */
async function openScope(turn: ToolTurn, options: SecretOptions): Promise<CallScope> {
  const { declared, vault, logger } = options;
  let values: OpenSecrets | null = new Map();
  if (declared.size > 0 && turn.clientId !== null && vault !== null) {
    values = await vault.open(turn.app, turn.clientId).catch((error: unknown) => {
      logger.warn({ app: turn.app, err: error }, "the secrets of a turn's client cannot be read");
      return null;
    });
  }
  const opened = values;
  return {
    turn,
    secret(name) {
      if (!declared.has(name)) throw new Error(`The App declares no secret "${name}".`);
      if (opened === null) throw new Error("Secrets cannot be read at the moment. Try again later.");
      const value = opened.get(name);
      if (value === undefined) throw new SecretMissing(name);
      return value;
    },
    scrub: createScrubber(opened?.values() ?? []),
  };
}
