import type { CallToolResult, Client, Tool as ListedTool } from "@modelcontextprotocol/client";
import type { ToolEffect } from "../../core/ports/driven/tool.ts";
import { NO_TIMEOUT_MS } from "./open-client.ts";

export interface McpCall {
  readonly tool: ListedTool;
  readonly input: Readonly<Record<string, unknown>>;
  /** The operator's configured effect, else the one that the server claims. */
  readonly effect: ToolEffect;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: object) => void;
}

/** Rejects with the SDK's error. */
export function callOn(
  client: Client,
  { tool, input, callId, signal, onProgress }: McpCall,
): Promise<CallToolResult> {
  // Without the output schema: this service checks it, within limits.
  const { outputSchema: _, ...toolDefinition } = tool;
  return client.callTool(
    { name: tool.name, arguments: { ...input }, _meta: { "idempotency-key": callId } },
    { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress, toolDefinition },
  );
}
