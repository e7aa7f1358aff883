// An MCP server for conversations (https://modelcontextprotocol.io). It is stateless, so any node can serve any
// request.

import { defineProtocol, ServedApps } from "@colloquy/server/protocol";
import { formatError } from "./errors.ts";
import { endpointRoute, notServed } from "./endpoint.ts";
import { metadataRoutes } from "./resource-metadata.ts";
import { Settings } from "./settings.ts";

export const mcpServer = defineProtocol({
  name: "mcp-server",
  version: "1.0.0",
  description: "An MCP server: conversations as tools and resources.",
  settings: Settings,
  create({ apps, allowDecisions = false }, context) {
    const served = new ServedApps(apps, context, notServed);
    const parts = { context, served, allowDecisions };
    return {
      formatError: (problem) => formatError(problem),
      routes(app) {
        if (served.names.size === 0) return;
        endpointRoute(app, parts);
        metadataRoutes(app, parts);
      },
    };
  },
});
