import { z } from "zod";
import { AnySessionId } from "./session-id.ts";
import { ToolCall, ToolResult, TurnNumber } from "./snapshot.ts";
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
});
export type PersistedMessage = z.infer<typeof PersistedMessage>;

export const DeletedThread = z.object({ session_id: AnySessionId, deleted: z.literal(true) });
