// An MCP server on standard input and output that counts stock. Colloquy starts it and lists its tools as `stock_…`.

import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const stock = new Map([
  ["teapot", 3],
  ["cup", 120],
]);

const server = new McpServer({ name: "stock", version: "1.0.0" });

server.registerTool(
  "count",
  {
    description: "How many pieces of an article are in stock",
    inputSchema: z.object({ article: z.string() }),
    // Colloquy takes this for `"effects": {"stock_count": "read"}`: after a crash the call may simply run again.
    annotations: { readOnlyHint: true },
  },
  async ({ article }) => {
    const pieces = stock.get(article);
    const text =
      pieces === undefined ? `There is no article "${article}".` : `${pieces} pieces of "${article}".`;
    return { content: [{ type: "text", text }], isError: pieces === undefined };
  },
);

await server.connect(new StdioServerTransport());
