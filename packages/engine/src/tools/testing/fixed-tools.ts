import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { ApprovalRule } from "../../core/app-settings.ts";
import type { SecretVault } from "../../core/ports/driven/secret-store.ts";
import type { Tool, ToolEffect } from "../../core/ports/driven/tool.ts";
import { AppTools, type AppToolsOptions } from "../toolset.ts";
import { fixedSource } from "../tool-source.ts";

interface FixedTools {
  readonly effects?: Readonly<Record<string, ToolEffect>>;
  readonly approvals?: Readonly<Record<string, ApprovalRule>>;
  /** Names of the secrets that each App declares. */
  readonly secrets?: readonly string[];
  readonly vault?: SecretVault | null;
  readonly logger?: AppToolsOptions["logger"];
  readonly clock?: AppToolsOptions["clock"];
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const NOTHING = { builtIn: [], own: {}, sources: [], wallet: null };

/** Creates a toolset in which each App has the given tools. */
export function fixedTools(
  tools: Readonly<Record<string, readonly Tool[]>>,
  { effects = {}, approvals = {}, secrets = [], ...options }: FixedTools = {},
): AppTools {
  const slots = secrets.map((name) => ({ name, description: "", required: false }));
  const settings = { tools: { ...NOTHING, effects, approvals }, secrets: slots };
  const apps = Object.fromEntries(Object.keys(tools).map((app) => [app, settings]));
  const base = { clock: new ManualClock(), logger: SILENT, vault: null };
  return new AppTools(apps, {
    ...base,
    ...options,
    plan: (app) => [fixedSource("fixed", tools[app] ?? [])],
  });
}
