import type { HttpApp, ProtocolContext, ServedApps } from "@colloquy/server/protocol";

export type App = HttpApp;

export interface Parts {
  readonly context: ProtocolContext;
  readonly served: ServedApps;
  /** True to offer the tool `decide`. */
  readonly allowDecisions: boolean;
}

export const PATH = "/mcp";
export const TAGS = ["MCP"];
