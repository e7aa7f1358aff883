import { z } from "zod";
import { Timestamp, ToolCall, ToolResult } from "./snapshot.ts";

export const Thread = z.object({
  session_id: z.uuid(),
  title: z.string(),
  app: z.string(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Thread = z.infer<typeof Thread>;

/** A message as it is kept (interface specification, "Persisted message record"). */
export const PersistedMessage = z.object({
  id: z.uuid(),
  session_id: z.uuid(),
  thread_id: z.uuid(),
  role: z.enum(["user", "assistant", "system"]),
  content: z.string(),
  tool_calls: z.array(ToolCall).nullable(),
  tool_results: z.array(ToolResult).nullable(),
  created_at: Timestamp,
});
export type PersistedMessage = z.infer<typeof PersistedMessage>;

export const DeletedThread = z.object({ session_id: z.uuid(), deleted: z.literal(true) });
