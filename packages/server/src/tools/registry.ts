import type { ActionRequest } from "../core/action.ts";
import type {
  Tool,
  ToolCallOptions,
  ToolDefinition,
  ToolOutcome,
  ToolRegistry,
  ToolTurn,
  TurnTools,
} from "../core/ports/tool.ts";
import { callTool } from "./call-tool.ts";
import { createInputCheck, type InputCheck } from "./input-check.ts";

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The tools of each App. All schemas are read here, once.
 *
 * @throws TypeError when a tool's name is not 1 to 64 of `[a-zA-Z0-9_-]` or given twice in an App, or its schema cannot be checked.
 */
export function createToolRegistry(toolsByApp: Readonly<Record<string, readonly Tool[]>>): ToolRegistry {
  const apps = new Map(Object.entries(toolsByApp).map(([app, tools]) => [app, readApp(app, tools)]));
  return { open: (turn) => Promise.resolve(new ToolsOfTurn(apps.get(turn.app) ?? NO_TOOLS, turn)) };
}

/** An App's tools, with their schemas read. */
interface AppTools {
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, { readonly tool: Tool; readonly checkInput: InputCheck }>;
}

const NO_TOOLS: AppTools = { tools: [], byName: new Map() };

class ToolsOfTurn implements TurnTools {
  readonly #app: AppTools;
  readonly #turn: ToolTurn;

  constructor(app: AppTools, turn: ToolTurn) {
    this.#app = app;
    this.#turn = turn;
  }

  get definitions(): readonly ToolDefinition[] {
    return this.#app.tools;
  }

  async ask(name: string, input: unknown): Promise<ActionRequest | null> {
    const entry = this.#app.byName.get(name);
    if (entry?.tool.ask === undefined || entry.checkInput(input) !== null) return null;
    return await entry.tool.ask(input, this.#turn);
  }

  async call(name: string, input: unknown, options: ToolCallOptions): Promise<ToolOutcome> {
    const entry = this.#app.byName.get(name);
    if (entry !== undefined) return await callTool(entry.tool, entry.checkInput, input, this.#turn, options);
    const names = [...this.#app.byName.keys()];
    const offer = names.length === 0 ? "There are no tools." : `The tools are ${names.join(", ")}.`;
    return { output: `There is no tool with this name. ${offer}`, isError: true };
  }
}

function readApp(app: string, tools: readonly Tool[]): AppTools {
  const byName = new Map<string, { tool: Tool; checkInput: InputCheck }>();
  for (const tool of tools) {
    if (!namePattern.test(tool.name)) {
      throw new TypeError(`App ${app}: a tool's name has 1 to 64 of [a-zA-Z0-9_-], not "${tool.name}".`);
    }
    if (byName.has(tool.name)) throw new TypeError(`App ${app}: the tool ${tool.name} is given twice.`);
    byName.set(tool.name, { tool, checkInput: createInputCheck(tool) });
  }
  return { tools: Object.freeze([...tools]), byName };
}
