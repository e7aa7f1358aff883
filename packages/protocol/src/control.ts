import { z } from "zod";

export const SetModelResult = z.object({
  success: z.boolean(),
  rig: z.string().meta({ description: "The model in force" }),
  baml: z.string().meta({ description: "The utility model (titles, summaries) in force" }),
  created: z.boolean().meta({ description: "true when this call created the session" }),
});
export type SetModelResult = z.infer<typeof SetModelResult>;

export const ModelList = z.array(z.string());

export const SecretSlot = z.object({ name: z.string(), description: z.string(), required: z.boolean() });
export type SecretSlot = z.infer<typeof SecretSlot>;

export const ToolProblem = z.object({
  name: z.string().meta({ description: "The source, such as `mcp weather`" }),
  problem: z.string().meta({ description: "Why its tools are missing, as a sentence without addresses" }),
});
export type ToolProblem = z.infer<typeof ToolProblem>;

export const AppDescriptor = z.object({
  name: z.string(),
  secrets: z.array(SecretSlot).optional(),
  tool_problems: z
    .array(ToolProblem)
    .optional()
    .meta({ description: "Sources whose tools cannot be used now; absent if there are none" }),
});
export type AppDescriptor = z.infer<typeof AppDescriptor>;
