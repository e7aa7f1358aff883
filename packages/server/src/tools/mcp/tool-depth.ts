// Guards against deeply nested tool definitions. The SDK parses tools/list recursively, so one of them would
// fail the whole list: they are flattened and marked before the SDK sees them, and left out afterwards.

import type { JSONRPCMessage, Tool as ListedTool } from "@modelcontextprotocol/client";

/** Maximum nesting of arrays and objects in one tool. */
export const MAX_DEPTH = 64;
const MARK = "colloquy/too-deep";

/** Returns the message with each tool that is nested too deep replaced by a mark. */
export function withoutDeepTools(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const tools = (message.result as { readonly tools?: unknown } | null)?.tools;
  if (!Array.isArray(tools) || !tools.some((tool) => isDeeper(tool, MAX_DEPTH))) return message;
  const flat: readonly unknown[] = tools.map((tool: unknown) =>
    isDeeper(tool, MAX_DEPTH) ? flatten(tool) : tool,
  );
  return { ...message, result: { ...message.result, tools: flat } };
}

export function isTooDeep({ _meta }: ListedTool): boolean {
  return _meta?.[MARK] === true;
}

function flatten(tool: unknown): unknown {
  // Only an object or array can be too deep.
  const { name } = tool as { readonly name?: unknown };
  return {
    name: typeof name === "string" ? name : "",
    inputSchema: { type: "object" },
    _meta: { [MARK]: true },
  };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
