// Tools that run in the client. A call becomes an action, and the client's answer to it is the result.

import { toolSchemaOf } from "../../core/client-schema.ts";
import type { ToolSettings } from "../../core/app-settings.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { SchemaCheck } from "../../core/ports/driven/schema-check.ts";
import type { ClientTool } from "../../core/turn-options.ts";
import { describeMisfit, type InputCheck } from "../input-check.ts";
import { fixedSource, type ToolSource, type SourceTool } from "../tool-source.ts";

type ClientTools = Readonly<Record<string, ClientTool>>;

/** Plans an App's own client tools and, if the App allows it, those that a chat offers. */
export function clientToolSources(
  { client, allowsClientTools }: Pick<ToolSettings, "client" | "allowsClientTools">,
  schemas: SchemaCheck,
): readonly ToolSource[] {
  return [
    ...(client === undefined ? [] : [fixedSource("client tools", toolsOf(client))]),
    ...(allowsClientTools === true ? [offeredToolSource(schemas)] : []),
  ];
}

const NONE: readonly SourceTool[] = [];

function offeredToolSource(schemas: SchemaCheck): ToolSource {
  return {
    label: "offered client tools",
    isInternal: true,
    list: ({ turn: { options } }) =>
      Promise.resolve(options?.clientTools === undefined ? NONE : offeredTools(options.clientTools, schemas)),
  };
}

function offeredTools(tools: ClientTools, schemas: SchemaCheck): readonly SourceTool[] {
  return Object.entries(tools).map(([name, tool]) => ({
    ...createClientTool(name, tool),
    checkInput: createOfferedCheck(name, toolSchemaOf(tool), schemas),
  }));
}

/** An input that cannot be checked is refused: nobody else checks it. */
function createOfferedCheck(name: string, schema: JsonObject, schemas: SchemaCheck): InputCheck {
  return async (input) => {
    const problem = await schemas.mismatch(schema, input as JsonValue);
    if (problem === null) return null;
    if (problem.kind === "wrong") return describeMisfit(name, [problem.text]);
    const advice =
      problem.kind === "busy" ? "Call it again if it is still needed." : "Call it with a smaller input.";
    return `The call was not made, because the input of the tool ${name} was not checked: ${problem.text}. ${advice}`;
  };
}

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
