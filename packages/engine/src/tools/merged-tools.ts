// Merges the tools of an App's sources into one list with unique names and checkable schemas.

import { approvalTerms, type SourceSettings, type ToolSettings } from "../core/app-settings.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ToolDefinition, UnknownTool } from "../core/ports/driven/tool.ts";
import { nearestName } from "../core/nearest-name.ts";
import { type CallableTool, messageOf } from "./call-tool.ts";
import { createInputCheck } from "./input-check.ts";
import type { SourceTool } from "./tool-source.ts";

const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

export interface MergedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, CallableTool>;
  readonly omitted: readonly OmittedTool[];
  readonly unknown: readonly UnknownTool[];
}

export const NO_TOOLS: MergedTools = { definitions: [], byName: new Map(), omitted: [], unknown: [] };

/** Node of a trie whose edges are the sources' lists, in order. */
interface Step {
  readonly next: WeakMap<readonly SourceTool[], Step>;
  joined: MergedTools | null;
}

/** A tool that is omitted for all models. */
export interface OmittedTool {
  readonly tool: SourceTool;
  readonly reason: string;
}

/** Merges lists of tools. The same lists yield the same object, so callers can use it as a cache key. */
export class ToolMerger {
  readonly #settings: ToolSettings;
  readonly #logger: Logger;
  readonly #app: string;
  /** Tools whose absence was logged, by section and name. */
  readonly #warned = new Map<string, string>();
  readonly #start: Step = { next: new WeakMap(), joined: null };

  constructor(app: string, settings: ToolSettings, logger: Logger) {
    this.#app = app;
    this.#settings = settings;
    this.#logger = logger;
  }

  /**
   * Merges the lists in the order of their sources. Of tools with the same name the first keeps it; a later tool of a
   * server gets a suffix.
   */
  merge(lists: ReadonlyArray<readonly SourceTool[]>): MergedTools {
    let step = this.#start;
    for (const list of lists) {
      const next = step.next.get(list) ?? { next: new WeakMap(), joined: null };
      step.next.set(list, next);
      step = next;
    }
    step.joined ??= this.#merge(lists.flat());
    return step.joined;
  }

  #merge(tools: readonly SourceTool[]): MergedTools {
    const byName = new Map<string, CallableTool>();
    const omitted: OmittedTool[] = [];
    const taken = new Set(tools.map(({ name }) => name));
    for (const tool of tools) {
      const read = !byName.has(tool.name)
        ? this.#read(tool, tool.name)
        : tool.isRemote === true
          ? this.#read({ ...tool, name: freeName(tool.name, taken) }, tool.name)
          : "its name is taken";
      if (typeof read !== "string") byName.set(read.tool.name, read);
      else {
        omitted.push({ tool, reason: read });
        const fields = { app: this.#app, tool: tool.name.slice(0, 100), reason: read };
        this.#logger.warn(fields, "a tool is omitted");
      }
    }
    const unknown = this.#unknownTools(byName);
    this.#logUnknown(unknown, byName);
    this.#askForUnknown(unknown, byName);
    const definitions = [...byName.values()].map(({ tool, effect }) => ({
      name: tool.name,
      ...(tool.title !== undefined && { title: tool.title }),
      description: tool.description,
      inputSchema: tool.inputSchema,
      effect,
      ...(tool.isRemote === true && { isRemote: true }),
    }));
    return { definitions: Object.freeze(definitions), byName, omitted, unknown };
  }

  /**
   * Returns settings for tools that no source lists. Skips sources without tools or with a stand-in: they may be
   * down.
   */
  #unknownTools(byName: MergedTools["byName"]): readonly UnknownTool[] {
    const { effects, approvals } = this.#settings;
    const listed = [...byName.values()].filter(({ tool }) => tool.standsInFor === undefined);
    const unknown = (section: UnknownTool["section"], configured: object): readonly UnknownTool[] =>
      Object.keys(configured).flatMap((tool) => {
        const source = byName.has(tool) ? undefined : this.#sourceOf(tool);
        const names = listed.map((one) => one.tool.name).filter((name) => this.#sourceOf(name) === source);
        if (source === undefined || names.length === 0) return [];
        return [{ section, tool, source: source.label, nearest: nearestName(tool, names) }];
      });
    return [...unknown("effects", effects), ...unknown("approvals", approvals)];
  }

  /** Returns the source with the longest matching prefix. */
  #sourceOf(tool: string): SourceSettings | undefined {
    return this.#settings.sources
      .filter(({ name }) => tool.startsWith(`${name}_`))
      .toSorted((left, right) => right.name.length - left.name.length)[0];
  }

  /** Logs each name once, and again if the tool disappears after it was present. */
  #logUnknown(unknown: readonly UnknownTool[], byName: MergedTools["byName"]): void {
    for (const [place, tool] of this.#warned) if (byName.has(tool)) this.#warned.delete(place);
    for (const { section, tool, source, nearest } of unknown) {
      const place = `${section} ${tool}`;
      if (this.#warned.has(place)) continue;
      this.#warned.set(place, tool);
      const fields = { app: this.#app, section, tool, source, ...(nearest !== null && { nearest }) };
      if (section === "effects")
        this.#logger.warn(fields, "the configuration names a tool that its source does not list");
      else this.#logger.error(fields, "an approval names a tool that its source does not list");
    }
  }

  /**
   * Fails closed: a misspelled approval may mean any tool of its source, so all tools without a rule need approval.
   */
  #askForUnknown(unknown: readonly UnknownTool[], byName: Map<string, CallableTool>): void {
    const { approvals } = this.#settings;
    const asking = new Set(
      unknown
        .filter(
          ({ section, tool }) =>
            section === "approvals" && approvalTerms(approvals[tool] ?? "always").when !== "never",
        )
        .map(({ source }) => source),
    );
    for (const [name, callable] of asking.size === 0 ? [] : byName) {
      const source = this.#sourceOf(callable.sourceName ?? name);
      if (callable.tool.isRemote === true && source !== undefined && asking.has(source.label))
        byName.set(name, { ...callable, approval: "always" });
    }
  }

  /** Returns the callable tool, or the reason why it cannot be offered. */
  #read(tool: SourceTool, sourceName: string): CallableTool | string {
    if (!NAME_PATTERN.test(tool.name)) return "a tool's name has 1 to 64 of [a-zA-Z0-9_-]";
    const { effects, approvals } = this.#settings;
    const approvalEntry = settingFor(approvals, tool.name, sourceName);
    if (
      tool.ask !== undefined &&
      approvalEntry !== undefined &&
      approvalTerms(approvalEntry).approvers !== undefined
    )
      return 'only the user can answer its requests: remove its "approvers"';
    const effect = settingFor(effects, tool.name, sourceName) ?? tool.effect;
    try {
      const renamed = sourceName === tool.name ? {} : { sourceName };
      const { approval = "never" } = tool;
      return { tool, ...renamed, effect, approval, checkInput: tool.checkInput ?? createInputCheck(tool) };
    } catch (error) {
      return messageOf(error);
    }
  }
}

/** Returns the setting for a tool's name, or else for its name in the source: a suffix must not evade an approval. */
export function settingFor<Setting>(
  settings: Readonly<Record<string, Setting>>,
  ...names: ReadonlyArray<string | undefined>
): Setting | undefined {
  const name = nameIn(settings, ...names);
  return name === undefined ? undefined : settings[name];
}

/** Returns the first of these names that is configured. */
export function nameIn(
  settings: Readonly<Record<string, unknown>>,
  ...names: ReadonlyArray<string | undefined>
): string | undefined {
  return names.find((one) => one !== undefined && Object.hasOwn(settings, one));
}

/** Returns the name with a suffix that makes it unique. */
function freeName(name: string, taken: Set<string>): string {
  for (let count = 2; ; count += 1) {
    const ending = `_${count}`;
    const free = name.slice(0, 64 - ending.length) + ending;
    if (taken.has(free)) continue;
    taken.add(free);
    return free;
  }
}
