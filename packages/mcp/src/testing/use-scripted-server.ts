import { afterEach, beforeEach } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { ToolEffect } from "@colloquy/engine/internal/core/ports/driven/tool";
import { httpServer, mcpTools } from "./opened-mcp.ts";
import { ScriptedMcp } from "./scripted-mcp.ts";
import type { McpTools } from "./opened-mcp.ts";

export interface ScriptedServer {
  readonly server: ScriptedMcp;
  readonly clock: ManualClock;
  /** Creates a toolset with this server. */
  readonly open: (
    headers?: Readonly<Record<string, string>>,
    effects?: Readonly<Record<string, ToolEffect>>,
  ) => McpTools;
}

/** Starts a scripted server for each test of a file. */
export function useScriptedServer(): ScriptedServer {
  let server: ScriptedMcp;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = new ManualClock();
    server = await new ScriptedMcp().start();
  });
  afterEach(() => server.stop());
  return {
    get server() {
      return server;
    },
    get clock() {
      return clock;
    },
    open: (headers = {}, effects = {}) =>
      mcpTools({ srv: httpServer(server.url, headers) }, { clock, effects }),
  };
}

/** Returns a call result with this text. */
export const textResult = (text: string) => ({ content: [{ type: "text", text }] });
