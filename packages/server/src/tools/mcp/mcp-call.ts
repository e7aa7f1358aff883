import type { CallToolResult, Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import type { ToolEffect } from "../../core/ports/tool.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";

export interface McpCall {
  readonly tool: ListedTool;
  readonly input: Readonly<Record<string, unknown>>;
  /** As the operator says it, or else the server. */
  readonly effect: ToolEffect;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: object) => void;
}

/** Rejects with what the SDK has to say. */
export function callOn(
  client: Client,
  { tool, input, callId, signal, onProgress }: McpCall,
): Promise<CallToolResult> {
  // Without its schemas: this service checks them itself, with limits.
  const { outputSchema: _, ...toolDefinition } = tool;
  return client.callTool(
    { name: tool.name, arguments: { ...input }, _meta: { "idempotency-key": callId } },
    { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress, toolDefinition },
  );
}
