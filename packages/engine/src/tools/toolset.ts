// Provides the tools of each App, from all its sources, to turns.

import type { AdminToolSource } from "@colloquy/protocol";
import { type ApprovalRule, type AppSettings, approvalTerms } from "../core/app-settings.ts";
import { approverRule } from "../core/action.ts";
import type { JsonObject } from "../core/json.ts";
import {
  type AskingTerms,
  type ClientResults,
  type ExaminedSource,
  type ToolSourceReports,
  type PolicyDecision,
  type ToolCallOptions,
  type ToolDefinition,
  type CallOutcome,
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
import { callTool, type CallableTool, reportedResult, type CallScope } from "./call-tool.ts";
import { type MergedTools, nameIn, NO_TOOLS, settingFor, ToolMerger } from "./merged-tools.ts";
import { standInAnswer, type SourceTool, type ToolScope, type ToolSource } from "./tool-source.ts";
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
  readonly plan: (app: string, settings: Pick<AppSettings, "tools">) => readonly ToolSource[];
  /** Returns the tools that a model of the App is not offered; absent for none. */
  readonly notOffered?: (app: string, tools: readonly ToolDefinition[]) => readonly NotOffered[];
  /** Called when every source is closed; absent if the sources share nothing. */
  readonly onClosed?: () => Promise<void>;
}

/** Tools that models of an App are not offered, for the same reason. */
export interface NotOffered {
  readonly models: readonly string[];
  readonly names: readonly string[];
  readonly reason: string;
}

interface App {
  readonly settings: AppsByName[string];
  readonly declared: ReadonlySet<string>;
  readonly merger: ToolMerger;
  readonly sources: readonly ToolSource[];
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
  readonly #reports: SourceReports;
  readonly #noted = new WeakSet<MergedTools>();
  readonly #warned = new Set<string>();

  constructor(apps: AppsByName, options: AppToolsOptions) {
    this.#options = options;
    this.#reports = new SourceReports(options);
    const entries = Object.entries(apps).map(
      ([name, settings]) => [name, this.#build(name, settings)] as const,
    );
    this.#apps = new Map(entries);
  }

  async open(turn: ToolTurn, signal: AbortSignal): Promise<TurnTools> {
    const { clock, logger, vault } = this.#options;
    const app = this.#apps.get(turn.app);
    const scope = await openScope(turn, { declared: app?.declared ?? new Set(), vault, logger });
    if (app === undefined) return new ToolsOfTurn(NO_TOOLS, { scope, clock, logger, settings: NO_RULES });
    const { merged } = await this.#merge(app, scope, signal);
    return new ToolsOfTurn(merged, { scope, clock, logger, settings: app.settings.tools });
  }

  /** Lists the tools of an App's sources for a turn without a client. Never rejects. */
  async examine(name: string): Promise<readonly ExaminedSource[]> {
    const { logger, vault } = this.#options;
    const app = this.#apps.get(name);
    if (app === undefined) return [];
    const scope = await openScope({ ...NO_TURN, app: name }, { declared: app.declared, vault, logger });
    const { merged, lists } = await this.#merge(app, scope, new AbortController().signal);
    return app.sources.flatMap((source, index) => {
      if (source.isInternal === true) return [];
      const own = [...merged.byName].filter(([, { tool }]) => tool.standsInFor === undefined);
      const rules = own
        .filter(([name]) => isFrom(lists[index] ?? NO_LIST, name, merged))
        .map(([name, callable]) => ({
          name,
          effect: callable.effect,
          approval: nameOf(ruleFor(app.settings.tools, name, callable)),
        }));
      const unknown = merged.unknown.filter(({ source: label }) => label === source.label);
      return [{ ...this.#reports.of(source), rules, unknown }];
    });
  }

  async #merge(
    app: App,
    scope: CallScope,
    signal: AbortSignal,
  ): Promise<{ readonly merged: MergedTools; readonly lists: readonly (readonly SourceTool[])[] }> {
    const lists = await Promise.all(app.sources.map((source) => this.#list(source, scope, signal)));
    const merged = app.merger.merge(lists);
    if (!signal.aborted) this.#noteOmitted(app, merged, { app: scope.turn.app, lists });
    return { merged, lists };
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

  /** Lists the tools of all Apps in the background, so that omitted tools are logged before the first turn. */
  listAll(): void {
    for (const [name, { settings }] of this.#apps) {
      const { sources, own, client } = settings.tools;
      const isWorthIt = [sources, own, client ?? {}].some((tools) => Object.keys(tools).length > 0);
      if (isWorthIt) void this.refresh(name);
    }
  }

  sources(app: string): readonly AdminToolSource[] {
    const sources = this.#apps.get(app)?.sources ?? [];
    return sources.filter(({ isInternal }) => isInternal !== true).map((source) => this.#reports.of(source));
  }

  /** Closes every connection. No source opens one afterwards. */
  async close(): Promise<void> {
    const sources = [...this.#apps.values()].flatMap((app) => app.sources);
    this.#apps = new Map();
    await Promise.allSettled(sources.map(async (source) => source.close?.()));
    await this.#options.onClosed?.();
  }

  /** Reports omitted tools, and warns of tools that a model is not offered. Does so once for each list of tools. */
  #noteOmitted(
    { sources }: App,
    merged: MergedTools,
    { app, lists }: { readonly app: string; readonly lists: ReadonlyArray<readonly SourceTool[]> },
  ): void {
    if (this.#noted.has(merged)) return;
    this.#noted.add(merged);
    const notOffered = this.#options.notOffered?.(app, merged.definitions) ?? [];
    for (const { models, names, reason } of notOffered) {
      const key = JSON.stringify([app, models, names, reason]);
      if (this.#warned.has(key) || this.#warned.size === MAX_WARNINGS) continue;
      this.#warned.add(key);
      this.#options.logger.warn({ app, models, tools: names, reason }, "tools are not offered to a model");
    }
    for (const [index, source] of sources.entries()) {
      const list = lists[index] ?? NO_LIST;
      const unread = merged.omitted.filter(({ tool }) => list.includes(tool));
      const omitted = notOffered.flatMap(({ names, reason }) => {
        const own = names.filter((name) => isFrom(list, name, merged));
        return own.length === 0 ? [] : [`${own.join(", ")} (${reason})`];
      });
      this.#reports.noteOmitted(source, [
        ...unread.map(({ tool, reason }) => `${tool.name} (${reason})`),
        ...omitted,
      ]);
    }
  }

  #build(name: string, settings: AppsByName[string]): App {
    const sources = this.#options.plan(name, settings);
    const declared = new Set(settings.secrets.map((slot) => slot.name));
    const merger = new ToolMerger(name, settings.tools, this.#options.logger);
    return { settings, declared, merger, sources };
  }

  async #list(source: ToolSource, scope: ToolScope, signal: AbortSignal): Promise<readonly SourceTool[]> {
    try {
      const tools = await source.list(scope, signal);
      // A cancelled turn did not wait for the source, so its list does not show the source's state.
      if (!signal.aborted) this.#reports.noteList(source, scope.turn.app, tools);
      return tools;
    } catch (error) {
      const problem = "Its tools cannot be listed. The log says why.";
      this.#reports.noteFailure(source, scope.turn.app, problem, { err: error });
      return NO_LIST;
    }
  }
}

/** Returns true if the list contains the tool that models see as `name`. */
function isFrom(list: readonly SourceTool[], name: string, { byName }: MergedTools): boolean {
  const { tool, sourceName = name } = byName.get(name) ?? {};
  return tool !== undefined && list.some((one) => one.name === sourceName && one.scrub === tool.scrub);
}

type Rules = Pick<AppSettings["tools"], "approvals">;
const NO_RULES: Rules = { approvals: {} };

/** Returns the App's approval rule for a tool, or by default the tool's own. */
function ruleFor(
  { approvals }: Rules,
  name: string,
  { sourceName, approval = "never" }: CallableTool,
): ApprovalRule {
  const entry = settingFor(approvals, name, sourceName);
  return entry === undefined ? approval : approvalTerms(entry).when;
}

/** Returns the approval settings of the tool; `undefined` for the defaults. */
function termsFor(
  { approvals }: Rules,
  app: string,
  name: string,
  { sourceName }: CallableTool,
): AskingTerms | undefined {
  const rule = nameIn(approvals, name, sourceName);
  const terms = rule === undefined ? undefined : approvals[rule];
  if (rule === undefined || typeof terms !== "object") return undefined;
  const { expiresMs: validMs, remindMs, approvers, owner = "may_not" } = terms;
  return {
    ...(validMs !== undefined && { validMs }),
    ...(remindMs !== undefined && { remindMs }),
    ...(approvers !== undefined && { approvers: { owner, rule: approverRule(app, rule) } }),
  };
}

function nameOf(rule: ApprovalRule): "always" | "never" | "function" {
  return typeof rule === "string" ? rule : "function";
}

/** Maximum characters of a failure in the log. */
const MAX_FAILURE = 500;

interface TurnOptions {
  readonly scope: CallScope;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: Rules;
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
    const { scope, clock, settings } = this.#options;
    const rule = ruleFor(settings, name, callable);
    const decision = await decideCall(callable, input, { rule, scope, clock });
    if (decision.kind !== "ask") return decision;
    const terms = termsFor(settings, scope.turn.app, name, callable);
    return terms === undefined ? decision : { ...decision, terms };
  }

  async call(name: string, input: unknown, options: ToolCallOptions): Promise<CallOutcome> {
    const callable = this.#tools.byName.get(name);
    if (callable === undefined) return this.#notThere(name);
    const { scope, logger } = this.#options;
    return await callTool(callable, input, scope, options, ({ output }) => {
      if (callable.tool.logsFailures !== true) return;
      const { callId } = options;
      const fields = {
        app: scope.turn.app,
        tool: name,
        callId,
        failure: typeof output === "string" ? output.slice(0, MAX_FAILURE) : "",
      };
      logger.warn(fields, "a tool call failed");
    });
  }

  #notThere(name: string): ToolOutcome {
    const standIn = standInAnswer(name, this.#tools.byName);
    if (standIn !== null) return standIn;
    const names = [...this.#tools.byName.keys()];
    const offer = names.length === 0 ? "There are no tools." : `The tools are ${names.join(", ")}.`;
    return { output: `There is no tool with this name. ${offer}`, isError: true };
  }
}

/** Last observed state of a source. */
type Look = Omit<AdminToolSource, "name">;

/** Maximum number of distinct warnings about tools that a model is not offered. Requests can add tools. */
const MAX_WARNINGS = 1_000;

/** Maximum characters of a report about omitted tools. */
const MAX_PROBLEM = 1_000;

const UNUSED: Look = { state: "unused", tools: null, problem: null, seen_at: null };

/**
 * Reports on tool sources for operators, from the observations of turns, and logs each change between working and
 * failing. A report sends no request.
 */
class SourceReports {
  readonly #clock: Pick<Clock, "now">;
  readonly #logger: Logger;
  readonly #looks = new WeakMap<ToolSource, Look>();
  readonly #omitted = new WeakMap<ToolSource, readonly string[]>();

  constructor({ clock, logger }: Pick<AppToolsOptions, "clock" | "logger">) {
    this.#clock = clock;
    this.#logger = logger;
  }

  noteList(source: ToolSource, app: string, tools: readonly SourceTool[]): void {
    const standIn = tools.find(({ standsInFor }) => standsInFor !== undefined)?.standsInFor;
    // A missing or wrong secret of a client says nothing about the source.
    if (standIn?.isClientSpecific === true) return;
    if (standIn !== undefined) {
      this.noteFailure(source, app, standIn.reason);
      return;
    }
    const before = this.#looks.get(source)?.state;
    this.#note(source, { state: "working", tools: tools.length, problem: null });
    const fields = { app, source: source.label, tools: tools.length };
    if (before === "failing") this.#logger.info(fields, "a tool source works again");
  }

  /** Records a failure, and logs it if the source worked before. `fields` are added to the log line. */
  noteFailure(source: ToolSource, app: string, problem: string, fields: object = {}): void {
    const before = this.#looks.get(source)?.state;
    this.#note(source, { state: "failing", tools: 0, problem });
    if (before === "failing") return;
    const line = { app, source: source.label, reason: problem, ...fields };
    this.#logger.warn(line, "a tool source fails: its tools are unavailable");
  }

  noteOmitted(source: ToolSource, omitted: readonly string[]): void {
    this.#omitted.set(source, omitted);
  }

  of(source: ToolSource): AdminToolSource {
    const look = this.#looks.get(source) ?? UNUSED;
    const omitted = [...(source.omitted ?? []), ...(this.#omitted.get(source) ?? [])];
    if (look.state !== "working" || omitted.length === 0) return { name: source.label, ...look };
    const listed = omitted.join("; ");
    const shown = listed.length > MAX_PROBLEM ? `${listed.slice(0, MAX_PROBLEM).toWellFormed()}…` : listed;
    return { name: source.label, ...look, problem: `Tools are left out: ${shown}` };
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
