import type { Tool, ToolRegistry } from "../core/ports/tool.ts";
import { callTool } from "./call-tool.ts";
import { createInputCheck, type InputCheck } from "./input-check.ts";

interface AppTools {
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, { readonly tool: Tool; readonly checkInput: InputCheck }>;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const noTools: readonly Tool[] = [];

/**
 * The tools of each App. All schemas are read here, once.
 *
 * @throws TypeError when a tool's name is not 1 to 64 of `[a-zA-Z0-9_-]` or given twice in an App, or its schema cannot be checked.
 */
export function createToolRegistry(toolsByApp: Readonly<Record<string, readonly Tool[]>>): ToolRegistry {
  const apps = new Map(Object.entries(toolsByApp).map(([app, tools]) => [app, readApp(app, tools)]));
  return {
    toolsOf: (app) => apps.get(app)?.tools ?? noTools,
    async call(app, name, input, options) {
      const known = apps.get(app);
      const entry = known?.byName.get(name);
      if (entry !== undefined) return callTool(entry.tool, entry.checkInput, input, options);
      const names = known === undefined ? [] : [...known.byName.keys()];
      const offer = names.length === 0 ? "There are no tools." : `The tools are ${names.join(", ")}.`;
      return { output: `There is no tool with this name. ${offer}`, isError: true };
    },
  };
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
