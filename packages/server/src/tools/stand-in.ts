// A placeholder for the tools of a server while they are unknown. It tells the model why they are missing, so
// that the model does not conclude that they never existed.

import type { ToolContext, ToolOutcome } from "../core/ports/driven/tool.ts";
import type { CallableTool } from "./call-tool.ts";
import type { SourceTool, UnavailableTools } from "./tool-source.ts";

export interface StandInOptions extends UnavailableTools {
  /** Rejects with the reason if the tools still cannot be used. */
  readonly look: (context: ToolContext) => Promise<void>;
}

export function createStandIn({ look, ...standsInFor }: StandInOptions): SourceTool {
  const { prefix, reason } = standsInFor;
  return {
    name: `${prefix}unavailable`,
    standsInFor,
    description: `The tools whose names begin with "${prefix}" cannot be used now. ${reason} Call this when they are needed: it tells whether they are back.`,
    inputSchema: { type: "object", properties: {} },
    effect: "read",
    async execute(_input, context) {
      await look(context);
      return "The tools can be used again. They are there from the next message on.";
    },
  };
}

/** Returns the error for a call of a missing tool that a stand-in represents; `null` if there is none. */
export function standInAnswer(name: string, byName: ReadonlyMap<string, CallableTool>): ToolOutcome | null {
  for (const { tool } of byName.values()) {
    if (tool.standsInFor === undefined || !name.startsWith(tool.standsInFor.prefix)) continue;
    const { prefix, reason, missingSecret } = tool.standsInFor;
    const output = `The tool was not called: those whose names begin with "${prefix}" cannot be used in this answer. ${reason} ${tool.name} tells whether they are back.`;
    return { output, isError: true, ...(missingSecret !== undefined && { missingSecret }) };
  }
  return null;
}
