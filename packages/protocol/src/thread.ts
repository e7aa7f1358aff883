import { z } from "zod";
import { Json } from "./json.ts";
import { AnySessionId } from "./session-id.ts";
import { Feedback, MESSAGE_EXTRAS, MESSAGE_SUMMARY, ToolCall, ToolResult, TurnNumber } from "./snapshot.ts";
import { Timestamp } from "./timestamp.ts";

export const Thread = z.object({
  session_id: AnySessionId,
  title: z.string(),
  app: z.string(),
  pinned: z.boolean().meta({ description: "Whether lists show it first" }),
  is_archived: z.literal(true).optional().meta({ description: "It is archived; absent otherwise" }),
  metadata: z.record(z.string(), Json).meta({ description: "JSON object of the client's, empty for none" }),
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
  ...MESSAGE_EXTRAS,
  feedback: Feedback.optional().meta({ description: "Feedback on the answer; absent for none" }),
  ...MESSAGE_SUMMARY,
  reasoning: z.array(Reasoning).optional().meta({
    description: "Reasoning of the turn, oldest first; only with `include=reasoning`",
  }),
});
export type PersistedMessage = z.infer<typeof PersistedMessage>;

export const DeletedThread = z.object({ session_id: AnySessionId, deleted: z.literal(true) });
