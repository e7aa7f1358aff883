// Merges the tools of an App's sources into one list with unique names and checkable schemas.

import type { ToolSettings } from "../core/app-settings.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ToolDefinition } from "../core/ports/driven/tool.ts";
import { type CallableTool, messageOf } from "./call-tool.ts";
import { createInputCheck } from "./input-check.ts";
import type { SourceTool } from "./tool-source.ts";

const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

export interface MergedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, CallableTool>;
}

export const NO_TOOLS: MergedTools = { definitions: [], byName: new Map() };

/** Node of a trie over the lists of the sources. The list of the next source leads to the next node. */
interface Step {
  readonly next: WeakMap<readonly SourceTool[], Step>;
  joined: MergedTools | null;
}

/** Merges lists of tools. The same lists yield the same object, so callers can use it as a cache key. */
export class ToolMerger {
  readonly #settings: ToolSettings;
  readonly #logger: Logger;
  readonly #app: string;
  readonly #warned = new Set<string>();
  readonly #start: Step = { next: new WeakMap(), joined: null };

  constructor(app: string, settings: ToolSettings, logger: Logger) {
    this.#app = app;
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Merges the lists in the order of their sources: the first tool of a name wins. */
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
    for (const tool of tools) {
      const read = byName.has(tool.name) ? "its name is taken" : this.#read(tool);
      if (typeof read !== "string") byName.set(tool.name, read);
      else {
        const fields = { app: this.#app, tool: tool.name.slice(0, 100), reason: read };
        this.#logger.warn(fields, "a tool is omitted");
      }
    }
    this.#warnOfMissing(byName);
    const definitions = [...byName.values()].map(({ tool, effect }) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: tool.inputSchema,
      effect,
    }));
    return { definitions: Object.freeze(definitions), byName };
  }

  /**
   * Warns of settings for tools that a server does not have: they have no effect, and a misspelt approval
   * rule lets calls run unapproved. A server without tools, or with a stand-in, may be down and is skipped.
   * Warns once per name, and again if the tool disappears after it was present.
   */
  #warnOfMissing(byName: MergedTools["byName"]): void {
    const { mcp, openapi, effects, approvals } = this.#settings;
    const known = [...byName.values()].filter(({ tool }) => tool.standsInFor === undefined);
    const present = [...Object.keys(mcp), ...Object.keys(openapi)]
      .map((server) => `${server}_`)
      .filter((prefix) => known.some(({ tool }) => tool.name.startsWith(prefix)));
    for (const [section, configured] of Object.entries({ effects, approvals })) {
      for (const tool of Object.keys(configured)) {
        const place = `${section} ${tool}`;
        const isMissing = present.some((prefix) => tool.startsWith(prefix)) && !byName.has(tool);
        if (byName.has(tool)) this.#warned.delete(place);
        if (!isMissing || this.#warned.has(place)) continue;
        this.#warned.add(place);
        const fields = { app: this.#app, section, tool };
        this.#logger.warn(fields, "the configuration names a tool that its server does not have");
      }
    }
  }

  /** Returns the callable tool, or the reason why it cannot be offered. */
  #read(tool: SourceTool): CallableTool | string {
    if (!NAME_PATTERN.test(tool.name)) return "a tool's name has 1 to 64 of [a-zA-Z0-9_-]";
    const { effects } = this.#settings;
    const effect = (Object.hasOwn(effects, tool.name) ? effects[tool.name] : undefined) ?? tool.effect;
    try {
      return { tool, effect, checkInput: tool.checkInput ?? createInputCheck(tool) };
    } catch (error) {
      return messageOf(error);
    }
  }
}
