// Tools for the demo model only, which show recovery and approvals without a real model.

import { COUNTING_TOOL } from "../../core/app-settings.ts";
import { isJsonObject } from "../../core/json.ts";
import type { ToolSource, SourceTool } from "../tool-source.ts";

/** Ends a step of "count to N", so that the count continues from there after a crash. */
const continueCounting: SourceTool = {
  name: COUNTING_TOOL,
  title: "Count",
  description: "Ends a step of counting. Has no effects; the next step begins with the number given.",
  inputSchema: {
    type: "object",
    properties: { next: { type: "integer", minimum: 2, description: "The number to go on with." } },
    required: ["next"],
    additionalProperties: false,
  },
  effect: "read",
  execute: async (input) => input,
};

/** Needs a person's approval, like a tool of an App with `approvals`. */
const orderTea: SourceTool = {
  name: "order_tea",
  title: "Order tea",
  description: "Pretends to order tea, to try out approvals. Needs approval, and has no effects.",
  inputSchema: {
    type: "object",
    properties: { cups: { type: "integer", minimum: 1, maximum: 100 } },
    additionalProperties: false,
  },
  effect: "read",
  ask: (input) => ({
    kind: "approval",
    request: { tool: "order_tea", input: { cups: cupsOf(input) } },
  }),
  execute: async (input) => {
    const cups = cupsOf(input);
    return `You approved ${cups} ${cups === 1 ? "cup" : "cups"} of tea. This was a demo: nothing is ordered.`;
  },
};

function cupsOf(input: unknown): number {
  const cups = isJsonObject(input) ? input["cups"] : null;
  return typeof cups === "number" ? cups : 1;
}

const NONE: readonly SourceTool[] = [];

/**
 * Returns the demo model's tools. `isDemo` returns true for its rigs; `withApproval` adds the tool that needs
 * approval.
 */
export function demoToolSource(isDemo: (rig: string) => boolean, withApproval: boolean): ToolSource {
  const tools = withApproval ? [continueCounting, orderTea] : [continueCounting];
  const list = (rig: string): readonly SourceTool[] => (isDemo(rig) ? tools : NONE);
  return {
    label: "demo tools",
    isInternal: true,
    list: ({ turn }) => Promise.resolve(list(turn.model)),
  };
}
