// One tool in the place of a server's tools while these are not known. It says why, and so does a call of any of them: what vanished
// without a word would be taken for what never was.

import type { ToolContext, ToolOutcome } from "../core/ports/tool.ts";
import type { CallableTool } from "./call-tool.ts";
import type { SourceTool, StoodFor } from "./tool-source.ts";

export interface StandInOptions extends StoodFor {
  /** Rejects with why they still cannot be used. */
  readonly look: (context: ToolContext) => Promise<void>;
}

export function createStandIn({ look, ...standsFor }: StandInOptions): SourceTool {
  const { prefix, reason } = standsFor;
  return {
    name: `${prefix}unavailable`,
    standsFor,
    description: `The tools whose names begin with "${prefix}" cannot be used now. ${reason} Call this when they are needed: it tells whether they are back.`,
    inputSchema: { type: "object", properties: {} },
    effect: "read",
    async execute(_input, context) {
      await look(context);
      return "The tools can be used again. They are there from the next message on.";
    },
  };
}

/** What answers a call of a tool that is not there because something stands for it; `null` where nothing does. It is always an error. */
export function standInAnswer(name: string, byName: ReadonlyMap<string, CallableTool>): ToolOutcome | null {
  for (const { tool } of byName.values()) {
    if (tool.standsFor === undefined || !name.startsWith(tool.standsFor.prefix)) continue;
    const { prefix, reason, missingSecret } = tool.standsFor;
    const output = `The tool was not called: those whose names begin with "${prefix}" cannot be used in this answer. ${reason} ${tool.name} tells whether they are back.`;
    return { output, isError: true, ...(missingSecret !== undefined && { missingSecret }) };
  }
  return null;
}
