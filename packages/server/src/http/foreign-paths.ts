// Maps paths to optional protocols, so that the 404 for a path explains how to enable its protocol.

import { NotFound } from "@colloquy/engine/internal/core/errors";

interface ForeignPath {
  readonly path: RegExp;
  /** A route that exists if the protocol is enabled. */
  readonly route: string;
  readonly off: string;
  readonly on: string;
}

const FOREIGN: readonly ForeignPath[] = [
  {
    path: /^\/v1\/agent(?:\/|$)/,
    route: "/v1/agent/sessions",
    off: 'The agent API of @aomi-labs/client is disabled. Enable it with "protocols": { "aomi": { "apps": ["default"] } } in colloquy.config.json, and restart; see docs/protocols/aomi.md.',
    on: "This path is not supported. The agent API of this server has chat, its events, interrupts and actions, and sessions; see docs/protocols/aomi.md.",
  },
  {
    path: /^\/v1(?:\/|$)/,
    route: "/v1/models",
    off: 'The OpenAI API is disabled. Enable it with "protocols": { "openai": { "apps": ["default"] } } in colloquy.config.json, and restart; see docs/protocols/openai.md.',
    on: "This path is not supported. The OpenAI API of this server has responses, conversations, chat completions and models, and takes files in messages; see docs/protocols/openai.md.",
  },
  {
    path: /^\/api\/ag-ui(?:\/|$)/,
    route: "/api/ag-ui",
    off: 'AG-UI is disabled. Enable it with "protocols": { "ag-ui": { "apps": ["default"] } } in colloquy.config.json, and restart; see docs/protocols/ag-ui.md.',
    on: "This path is not supported. Agents send their runs to /api/ag-ui; see docs/protocols/ag-ui.md.",
  },
  {
    path: /^\/mcp(?:\/|$)/,
    route: "/mcp",
    off: 'The MCP server is disabled. Enable it with "protocols": { "mcp-server": { "apps": ["default"] } } in colloquy.config.json, and restart; see docs/protocols/mcp-server.md.',
    on: "This path is not supported. The MCP endpoint of this server is /mcp; see docs/protocols/mcp-server.md.",
  },
];

function foreignAt(target: string): ForeignPath | undefined {
  return FOREIGN.find(({ path }) => path.test(/^[^?#]*/.exec(target)?.[0] ?? ""));
}

/** Returns a route of the protocol to which the path belongs; `null` for other paths. */
export function foreignRoute(target: string): string | null {
  return foreignAt(target)?.route ?? null;
}

/** Returns the 404 for a path without a route. `hasRoute` returns true if a path has one. */
export function noSuchRoute(target: string, hasRoute: (path: string) => boolean): NotFound {
  const foreign = foreignAt(target);
  const detail =
    foreign === undefined
      ? "Nothing is here. /openapi.json lists what this server answers."
      : hasRoute(foreign.route)
        ? foreign.on
        : foreign.off;
  return new NotFound("route_not_found", detail);
}
