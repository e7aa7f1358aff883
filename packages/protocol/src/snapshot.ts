// The session snapshot and its parts (interface specification, "Resources and their fields").

import { z } from "zod";
import { PendingAction } from "./actions.ts";
import { Json } from "./json.ts";
import { AnySessionId } from "./session-id.ts";
import { Timestamp } from "./timestamp.ts";

export const MessageStatus = z.enum(["queued", "streaming", "complete", "interrupted", "failed"]);
export type MessageStatus = z.infer<typeof MessageStatus>;

export const SessionStatus = z.enum(["idle", "processing", "interrupted"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

export const ToolCallStatus = z.enum(["running", "complete", "failed", "interrupted"]);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;

export const ToolCall = z.object({
  id: z.string(),
  name: z.string(),
  arguments: Json.meta({ description: "Input from the model" }),
  status: ToolCallStatus,
  text_offset: z.int().min(0).optional().meta({
    description: "Length of the message's text before the call, in UTF-16 code units; absent if not recorded",
  }),
});
export type ToolCall = z.infer<typeof ToolCall>;

export const ToolResult = z.object({
  call_id: z.string(),
  name: z.string(),
  output: Json,
  is_error: z.boolean(),
  duration_ms: z.number(),
});
export type ToolResult = z.infer<typeof ToolResult>;

export const TurnNumber = z.int().min(1).meta({
  description:
    "Number of the turn; an answer has the number of the message it answers. Absent in events of an older service",
});

export const Source = z.object({
  id: z.string().meta({ description: "The provider's id of the source" }),
  url: z.string(),
  title: z.string().optional(),
});
export type Source = z.infer<typeof Source>;

/** Fields of an answer besides its text and calls. */
export const ANSWER_EXTRAS = {
  data: z
    .record(z.string(), Json)
    .optional()
    .meta({ description: "The answer in the `response_schema` of the chat" }),
  sources: z.array(Source).optional().meta({ description: "Web pages that the model's provider used" }),
  has_reasoning: z.literal(true).optional().meta({
    description: "The model has reasoned; `GET /api/sessions/{id}/messages?include=reasoning` shows it",
  }),
};

export const Message = z.object({
  sender: z.enum(["user", "agent"]),
  content: z.string(),
  id: z.uuid(),
  created_at: Timestamp,
  status: MessageStatus,
  turn: TurnNumber.optional(),
  tool_calls: z.array(ToolCall).optional(),
  tool_results: z.array(ToolResult).optional(),
  ...ANSWER_EXTRAS,
});
export type Message = z.infer<typeof Message>;

export const SystemEvent = z.object({
  id: z.string(),
  type: z.enum(["notice", "error", "action_requested", "action_resolved", "interrupted"]),
  created_at: Timestamp,
  payload: z.record(z.string(), Json),
});
export type SystemEvent = z.infer<typeof SystemEvent>;

export type UserState = Record<string, z.infer<typeof Json>>;

/** Specified fields have their specified types; every other key may hold any JSON. */
export const UserState: z.ZodType<UserState, UserState> = z
  .object({
    connection: z
      .object({ is_connected: z.boolean("must be a boolean or null").nullish() }, "must be an object or null")
      .catchall(Json)
      .nullish(),
    evm: z
      .object(
        {
          address: z.string("must be a string or null").nullish(),
          chain_id: z.union([z.number(), z.string()], "must be a number, a string or null").nullish(),
        },
        "must be an object or null",
      )
      .catchall(Json)
      .nullish(),
  })
  .catchall(Json)
  .meta({ description: "User state synced by the client; unknown keys are kept" });

export const Snapshot = z.object({
  messages: z.array(Message),
  system_events: z.array(SystemEvent),
  pending_actions: z
    .array(PendingAction)
    .meta({ description: "Actions that wait for a person's decision, oldest first" }),
  title: z.string(),
  is_processing: z.boolean(),
  user_state: UserState.nullable(),
  session_id: AnySessionId,
  app: z.string(),
  status: SessionStatus,
  model: z.string(),
  last_event_id: z.string(),
});
export type Snapshot = z.infer<typeof Snapshot>;
