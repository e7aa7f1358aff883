// Tools that run in the client. A call becomes an action, and the client's answer to it is the result.

import type { ToolSettings } from "../../core/app-settings.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ClientTool } from "../../core/turn.ts";
import { fixedSource, type SourcePlan, type SourceTool } from "../tool-source.ts";

type ClientTools = Readonly<Record<string, ClientTool>>;

/** Plans an App's own client tools and, if the App allows it, those that a chat offers. */
export function planClientTools({
  client,
  allowsClientTools,
}: Pick<ToolSettings, "client" | "allowsClientTools">): readonly SourcePlan[] {
  return [
    ...(client === undefined ? [] : [fixedSource("client tools", toolsOf(client))]),
    ...(allowsClientTools === true ? [OFFERED] : []),
  ];
}

const NONE: readonly SourceTool[] = [];

const OFFERED: SourcePlan = {
  key: "offered client tools",
  create: () => ({
    label: "offered client tools",
    isInternal: true,
    list: ({ turn: { options } }) =>
      Promise.resolve(options?.clientTools === undefined ? NONE : toolsOf(options.clientTools)),
  }),
};

function toolsOf(tools: ClientTools): readonly SourceTool[] {
  return Object.entries(tools).map(([name, tool]) => createClientTool(name, tool));
}

function createClientTool(name: string, tool: ClientTool): SourceTool {
  const { description, inputSchema, timeoutMs, repeatable = false } = tool;
  return {
    name,
    description,
    inputSchema,
    effect: repeatable ? "idempotent" : "unsafe",
    ask: (input) => ({
      kind: "client_tool",
      request: { tool: name, input: input as JsonValue },
      repeatable,
      ...(timeoutMs !== undefined && { timeoutMs }),
    }),
    execute: () => Promise.reject(new Error(`The tool ${name} runs in the client only.`)),
  };
}
