// The plugin for MCP servers (section `mcp` of an App). Imports the MCP client on first use.

import { defineToolSource } from "@colloquy/engine/tool-source";
import manifest from "../package.json" with { type: "json" };
import { McpSection, mcpSettings } from "./settings.ts";

export const mcp = defineToolSource({
  name: "mcp",
  version: manifest.version,
  description: "MCP servers by name, whose tools are called `NAME_tool`.",
  settings: McpSection,
  entries: true,
  placeholders: { headers: "secret", env: "env" },
  addresses: (section) => ("url" in section ? [{ url: section.url }] : []),
  async create(section, context) {
    const { McpSource } = await import("./mcp-source.ts");
    return new McpSource(mcpSettings(section), context);
  },
});
