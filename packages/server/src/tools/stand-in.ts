// One tool in the place of a server's tools while these are not known. It says why, and so does a call of any of them: what vanished
// without a word would be taken for what never was.

import type { ToolContext } from "../core/ports/tool.ts";
import type { CallableTool } from "./call-tool.ts";
import type { SourceTool } from "./tool-source.ts";

export interface StandInOptions {
  /** What the names of the server's tools begin with, such as `weather_`. */
  readonly prefix: string;
  /** Why the tools cannot be used, as a sentence for the model. */
  readonly reason: string;
  /** Rejects with why they still cannot be used. */
  readonly look: (context: ToolContext) => Promise<void>;
}

export function createStandIn({ prefix, reason, look }: StandInOptions): SourceTool {
  return {
    name: `${prefix}unavailable`,
    standsFor: prefix,
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
export function standInFor(name: string, byName: ReadonlyMap<string, CallableTool>): CallableTool | null {
  for (const { tool, effect } of byName.values()) {
    if (tool.standsFor === undefined || !name.startsWith(tool.standsFor)) continue;
    const execute: SourceTool["execute"] = async (_input, context) => {
      await tool.execute({}, context);
      throw new Error(
        `The tool was not called: its server could not be used when this turn began. It can now, from the next message on.`,
      );
    };
    return { tool: { ...tool, execute }, effect, checkInput: () => null };
  }
  return null;
}
