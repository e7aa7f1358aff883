// Converts the tools of a turn to tool definitions that the provider accepts: valid names, rewritten schemas, and a
// limited number. Omits tools that it would reject, because it would reject the whole request.

import type { JSONSchema7 } from "@ai-sdk/provider";
import type { JsonValue } from "../core/json.ts";
import type { ToolRules } from "../core/ports/driven/model.ts";
import type { ToolDefinition } from "../core/ports/driven/tool.ts";
import type { ToolChoice } from "../core/turn-options.ts";
import { safeToolName } from "./prompt.ts";
import { createRestorer, repairDescription, repairSchema, Work } from "./tool-schemas.ts";

/** A tool definition as sent to the provider. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JSONSchema7;
  /** False for providers that otherwise make optional parameters required. */
  readonly strict?: false;
}

export interface OmittedTool {
  readonly name: string;
  /** Reason for the omission, as a sentence. */
  readonly reason: string;
}

/** Total work for the schemas of a list. */
const MAX_LIST_WORK = 8_000_000;
/** Work allowed for each further tool once the total is spent. */
const SMALL_WORK = 50_000;

export interface OfferedTools {
  readonly definitions: readonly OfferedTool[];
  /** Estimated size of the definitions in a request, in bytes. */
  readonly bytes: number;
  readonly omitted: readonly OmittedTool[];
  /** Maps a model's call back to the tool's own name and schema. */
  restore(name: string, input: JsonValue): { readonly name: string; readonly input: JsonValue };
}

export function offerTools(all: readonly ToolDefinition[], rules: ToolRules): OfferedTools {
  const { schemas: dialect, maxTools } = rules;
  const omitted: OmittedTool[] = [];
  let spent = 0;
  const repaired = all.flatMap((tool) => {
    const work = new Work(Math.max(MAX_LIST_WORK - spent, SMALL_WORK));
    try {
      return [{ tool, inputSchema: repairSchema(tool.inputSchema as JsonValue, dialect, work) }];
    } catch (error) {
      omitted.push({ name: tool.name, reason: error instanceof Error ? error.message : String(error) });
      return [];
    } finally {
      spent += work.spent;
    }
  });
  // Rank custom, client and built-in tools first: they are chosen individually, while servers may list any number.
  const ranked = [
    ...repaired.filter(({ tool }) => tool.isRemote !== true),
    ...repaired.filter(({ tool }) => tool.isRemote === true),
  ];
  const chosen = new Set(ranked.slice(0, maxTools));
  const reason = `The model takes at most ${maxTools} tools.`;
  for (const { tool } of ranked.slice(maxTools)) omitted.push({ name: tool.name, reason });
  const byOffered = new Map<
    string,
    { readonly tool: ToolDefinition; readonly restore: (input: JsonValue) => JsonValue }
  >();
  const names = new Set(all.map(({ name }) => name));
  const definitions = repaired
    .filter((one) => chosen.has(one))
    .map(({ tool, inputSchema }): OfferedTool => {
      const name = offeredName(tool.name, names);
      byOffered.set(name, { tool, restore: createRestorer(tool.inputSchema as JsonValue, dialect) });
      const description = repairDescription(tool.description, dialect);
      return { name, description, inputSchema, ...(dialect === "openai" && { strict: false }) };
    });
  return {
    definitions: Object.freeze(definitions),
    bytes: definitions.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0),
    omitted,
    restore(name, input) {
      const offered = byOffered.get(name);
      return offered === undefined
        ? { name, input }
        : { name: offered.tool.name, input: offered.restore(input) };
    },
  };
}

/** A choice in the SDK's form; `undefined` leaves it to the model. */
export type OfferedChoice =
  | "none"
  | "required"
  | { readonly type: "tool"; readonly toolName: string }
  | undefined;

/** Returns the choice of tools for a step, which counts from 1. */
export function choiceFor(
  choice: ToolChoice | undefined,
  step: number,
  { definitions, restore }: Pick<OfferedTools, "definitions" | "restore">,
): OfferedChoice {
  // Providers refuse a choice without tools.
  if (definitions.length === 0 || choice === undefined) return undefined;
  if (choice === "none") return "none";
  if (step > 1) return undefined;
  if (choice === "required") return "required";
  const offered = definitions.find(({ name }) => restore(name, null).name === choice.tool);
  return offered && { type: "tool", toolName: offered.name };
}

/** Returns a unique name that every provider accepts. */
function offeredName(name: string, taken: Set<string>): string {
  const safe = safeToolName(name);
  if (safe === name) return name;
  let free = safe;
  for (let count = 2; taken.has(free); count += 1) free = `${safe.slice(0, 60)}_${count}`;
  taken.add(free);
  return free;
}

/** Returns the tools omitted for some of the models, grouped by reason and models. */
export function toolsNotOffered(
  tools: readonly ToolDefinition[],
  rigs: readonly string[],
  rulesOf: (rig: string) => ToolRules,
): ReadonlyArray<{
  readonly models: readonly string[];
  readonly names: readonly string[];
  readonly reason: string;
}> {
  const groups = new Map<string, { models: string[]; names: string[]; reason: string }>();
  const byRules = Map.groupBy(rigs, (rig) => JSON.stringify(rulesOf(rig)));
  for (const [rules, models] of byRules) {
    const { omitted } = offerTools(tools, JSON.parse(rules) as ToolRules);
    for (const [reason, group] of Map.groupBy(omitted, (one) => one.reason)) {
      const names = group.map(({ name }) => name);
      const key = JSON.stringify([reason, names]);
      const existing = groups.get(key);
      if (existing === undefined) groups.set(key, { models, names, reason });
      else existing.models.push(...models);
    }
  }
  return [...groups.values()];
}
