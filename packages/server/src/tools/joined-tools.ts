// The tools of an App from all its sources as one list, in which each name stands once and each schema can be checked.

import type { ToolSettings } from "../core/app-settings.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { ToolDefinition } from "../core/ports/tool.ts";
import type { CallableTool } from "./call-tool.ts";
import { createInputCheck } from "./input-check.ts";
import type { SourceTool } from "./tool-source.ts";

const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

export interface JoinedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, CallableTool>;
}

export const NO_TOOLS: JoinedTools = { definitions: [], byName: new Map() };

/** One step on the way through the lists of the sources: the list of the next source leads to the next step. */
interface Step {
  readonly next: WeakMap<readonly SourceTool[], Step>;
  joined: JoinedTools | null;
}

/** Joins lists of tools; the same lists give the same object, so that whoever keeps something for a list of tools finds it again. */
export class ToolJoiner {
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

  /** The lists of the sources, in their order: of two tools of one name the first wins. */
  join(lists: ReadonlyArray<readonly SourceTool[]>): JoinedTools {
    let step = this.#start;
    for (const list of lists) {
      const next = step.next.get(list) ?? { next: new WeakMap(), joined: null };
      step.next.set(list, next);
      step = next;
    }
    step.joined ??= this.#join(lists.flat());
    return step.joined;
  }

  #join(tools: readonly SourceTool[]): JoinedTools {
    const byName = new Map<string, CallableTool>();
    for (const tool of tools) {
      const reason = byName.has(tool.name) ? "its name is taken" : whyNot(tool);
      if (reason === null) byName.set(tool.name, this.#callable(tool));
      else this.#logger.warn({ app: this.#app, tool: tool.name.slice(0, 100), reason }, "a tool is left out");
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
   * What is said of a tool that a server does not have is without effect, and where the name is misspelt a call goes unapproved. Of a
   * server without any tool, or with one that stands for them, nothing is known at the moment. Told once, and again when it had it meanwhile.
   */
  #warnOfMissing(byName: JoinedTools["byName"]): void {
    const { mcp, openapi, effects, approvals } = this.#settings;
    const known = [...byName.values()].filter(({ tool }) => tool.standsFor === undefined);
    const present = [...Object.keys(mcp), ...Object.keys(openapi)]
      .map((server) => `${server}_`)
      .filter((prefix) => known.some(({ tool }) => tool.name.startsWith(prefix)));
    for (const [section, said] of Object.entries({ effects, approvals })) {
      for (const tool of Object.keys(said)) {
        const place = `${section} ${tool}`;
        const isMissing = present.some((prefix) => tool.startsWith(prefix)) && !byName.has(tool);
        if (byName.has(tool)) this.#warned.delete(place);
        if (!isMissing || this.#warned.has(place)) continue;
        this.#warned.add(place);
        const fields = { app: this.#app, section, tool };
        this.#logger.warn(fields, "the configuration speaks of a tool that its server does not have");
      }
    }
  }

  #callable(tool: SourceTool): CallableTool {
    const { effects } = this.#settings;
    const said = Object.hasOwn(effects, tool.name) ? effects[tool.name] : undefined;
    return { tool, effect: said ?? tool.effect, checkInput: tool.checkInput ?? createInputCheck(tool) };
  }
}

/** Why a tool cannot be offered; `null` when it can. */
function whyNot(tool: SourceTool): string | null {
  if (!NAME_PATTERN.test(tool.name)) return "a tool's name has 1 to 64 of [a-zA-Z0-9_-]";
  if (tool.checkInput !== undefined) return null;
  try {
    createInputCheck(tool);
    return null;
  } catch (error) {
    return String(error instanceof Error ? error.message : error);
  }
}
