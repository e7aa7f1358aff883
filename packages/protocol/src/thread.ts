import { z } from "zod";
import { AnySessionId } from "./session-id.ts";
import { ANSWER_EXTRAS, ToolCall, ToolResult, TurnNumber } from "./snapshot.ts";
import { Timestamp } from "./timestamp.ts";

export const Thread = z.object({
  session_id: AnySessionId,
  title: z.string(),
  app: z.string(),
  pinned: z.boolean().meta({ description: "Whether lists show it first" }),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Thread = z.infer<typeof Thread>;

/** Reasoning of one model call. */
export const Reasoning = z.object({
  text: z.string(),
  step: z.int().min(1).meta({ description: "Number of the model call in its turn" }),
});
export type Reasoning = z.infer<typeof Reasoning>;

/** A stored message (interface specification, "Persisted message record"). */
export const PersistedMessage = z.object({
  id: z.uuid(),
  session_id: AnySessionId,
  thread_id: AnySessionId,
  role: z.enum(["user", "assistant", "system"]),
  content: z.string(),
  tool_calls: z.array(ToolCall).nullable(),
  tool_results: z.array(ToolResult).nullable(),
  created_at: Timestamp,
  turn: TurnNumber,
  ...ANSWER_EXTRAS,
  reasoning: z.array(Reasoning).optional().meta({
    description: "With `include=reasoning`, if there is any; oldest first",
  }),
});
export type PersistedMessage = z.infer<typeof PersistedMessage>;

export const DeletedThread = z.object({ session_id: AnySessionId, deleted: z.literal(true) });
