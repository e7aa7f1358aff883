// The client under test by the protocol's conformance suite: the service's own MCP tools. Called with the
// server's address. Makes the calls that the scenario names, or one call of each tool.

import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { httpServer, mcpTools } from "@colloquy/mcp/internal/testing/opened-mcp";
import { z } from "zod";
import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import type { ToolDefinition } from "@colloquy/engine/internal/core/ports/driven/tool";
import { offerTools } from "@colloquy/engine/internal/turns/offered-tools";

/** Returns a schema that a server listed, which one scenario compares. */
const ECHO = "suite_json_schema_echo";

const SAMPLES: Readonly<Record<string, JsonValue>> = {
  string: "a",
  integer: 1,
  number: 2,
  boolean: true,
  array: [],
  object: {},
};

const Context = z.object({
  toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) })).optional(),
});

function sampleOf({ inputSchema: { properties = {}, required = [] } }: ToolDefinition): JsonObject {
  const entries = required.map((name, index): [string, JsonValue] => {
    const property = properties[name];
    const type = typeof property === "object" ? String(property.type) : "";
    return [name, type === "number" ? index + 1 : (SAMPLES[type] ?? "a")];
  });
  return Object.fromEntries(entries);
}

const url = process.argv.at(-1);
if (url === undefined) throw new Error("Pass the server's address as an argument.");
const { toolCalls } = Context.parse(JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}"));
const tools = mcpTools({ suite: httpServer(url) }, { clock: createSystemClock() });
const { definitions } = await tools.open();
const offered = offerTools(definitions, { schemas: "anthropic", maxTools: 1_000 });
const schema = definitions.find(({ name }) => name !== ECHO)?.inputSchema ?? {};
const calls =
  toolCalls?.map(({ name, arguments: input }) => ({ name: `suite_${name}`, input })) ??
  definitions.map((tool) => ({
    name: tool.name,
    input: tool.name === ECHO ? { schema: schema as JsonValue } : sampleOf(tool),
  }));
const outcomes = await Promise.all(
  calls.map(async (call) => {
    const { name, input } = offered.restore(call.name, call.input);
    return { name, ...(await tools.call(name, input)) };
  }),
);
// A scenario judges by what it received. Its servers also refuse calls on purpose.
for (const { name, output, isError } of outcomes)
  process.stdout.write(`${name} ${isError ? "failed" : "returned"} ${JSON.stringify(output)}\n`);
await tools.toolset.close();
