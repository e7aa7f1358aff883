// The client under test by the protocol's conformance suite: the service's own MCP tools. Called with the
// server's address.

import { createSystemClock } from "../../src/wiring/clock.ts";
import { httpServer, mcpTools } from "../../src/tools/mcp/testing/opened-mcp.ts";

const url = process.argv.at(-1);
if (url === undefined) throw new Error("Pass the server's address as an argument.");
const tools = mcpTools({ suite: httpServer(url) }, { clock: createSystemClock() });
const { definitions } = await tools.open();
for (const { name, inputSchema } of definitions) {
  const input = Object.fromEntries(
    (inputSchema.required ?? []).map((property, index) => [property, index + 1]),
  );
  const outcome = await tools.call(name, input);
  if (outcome.isError) throw new Error(`${name}: ${JSON.stringify(outcome.output)}`);
}
await tools.toolset.close();
