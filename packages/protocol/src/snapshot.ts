// The session snapshot and its parts (interface specification, "Resources and their fields").

import { z } from "zod";
import { PendingAction } from "./actions.ts";
import { MESSAGE_ATTACHMENTS, RESULT_ATTACHMENTS } from "./attachment.ts";
import { Json } from "./json.ts";
import { AnySessionId } from "./session-id.ts";
import { Timestamp } from "./timestamp.ts";

export const MessageStatus = z.enum(["queued", "streaming", "complete", "interrupted", "failed"]);
export type MessageStatus = z.infer<typeof MessageStatus>;

export const SessionStatus = z.enum(["idle", "processing", "interrupted"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

export const ToolCallStatus = z.enum(["running", "complete", "failed", "interrupted"]);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;

/** A person's decision on a call, or its expiry. */
export const CallDecision = z.object({
  kind: z.enum(["approval", "wallet_transaction", "wallet_signature", "question", "client_tool"]),
  status: z.enum(["approved", "denied", "expired"]),
  at: Timestamp,
  by: z.enum(["user", "operator", "approver"]).nullable().meta({
    description:
      "`user`: the user of the session, or a page or server of the App; `null` if the action expired",
  }),
  name: z.string().optional().meta({ description: "The approver's name; absent if the token has none" }),
  comment: z.string().optional().meta({ description: "Comment on the decision" }),
});
export type CallDecision = z.infer<typeof CallDecision>;

export const ToolCall = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string().optional().meta({ description: "Name of the tool for people; absent if it has none" }),
  arguments: Json.meta({ description: "Input from the model" }),
  status: ToolCallStatus,
  text_offset: z.int().min(0).optional().meta({
    description: "Length of the message's text before the call, in UTF-16 code units; absent if not recorded",
  }),
  decision: CallDecision.optional().meta({
    description: "The decision on the call; absent if it needs none or is still pending",
  }),
});
export type ToolCall = z.infer<typeof ToolCall>;

export const ToolResult = z.object({
  call_id: z.string(),
  name: z.string(),
  output: Json,
  is_error: z.boolean(),
  duration_ms: z.number(),
  ...RESULT_ATTACHMENTS,
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

/** State of a steering message. */
export const Steering = z.discriminatedUnion("status", [
  z.object({ status: z.literal("pending") }),
  z.object({
    status: z.literal("read"),
    step: z.int().min(1).meta({ description: "Number of the turn's model call that first read it" }),
  }),
  z.object({ status: z.literal("own_turn") }),
]);
export type Steering = z.infer<typeof Steering>;

/** Optional fields of messages. */
export const MESSAGE_EXTRAS = {
  ...MESSAGE_ATTACHMENTS,
  data: z
    .record(z.string(), Json)
    .optional()
    .meta({ description: "The answer in the `response_schema` of the chat" }),
  sources: z.array(Source).optional().meta({ description: "Web pages that the model's provider used" }),
  has_reasoning: z.literal(true).optional().meta({
    description: "The answer has reasoning: `GET /api/sessions/{id}/messages?include=reasoning` returns it",
  }),
  steering: Steering.optional().meta({
    description:
      "For a steering message: `pending` until the turn in progress reads it, then `read`; `own_turn` if it gets a turn of its own",
  }),
  steps: z
    .object({ from: z.int().min(1), to: z.int().min(1).optional() })
    .optional()
    .meta({
      description:
        "For an answer in several messages: the numbers of this message's first model call and, if another message continues the turn, of its last one",
    }),
};

/** A person's rating of an answer. */
export const Feedback = z.object({
  score: z.union([z.literal(-1), z.literal(0), z.literal(1)]).meta({ description: "-1: bad; 1: good" }),
  comment: z.string().optional(),
  tags: z.array(z.string()).optional(),
  created_at: Timestamp.meta({ description: "Time of the last change" }),
});
export type Feedback = z.infer<typeof Feedback>;

/**
 * Describes the summary that replaces this message and all earlier ones in prompts. Token counts are
 * estimates.
 */
export const Summary = z.object({
  tokens_before: z.int().min(0).meta({ description: "Tokens that the summary replaces in prompts" }),
  tokens_after: z.int().min(0).meta({ description: "Tokens of the summary" }),
  created_at: Timestamp,
});
export type Summary = z.infer<typeof Summary>;

export const MESSAGE_SUMMARY = {
  summary: Summary.optional().meta({
    description:
      "The summary that replaces the conversation up to this message in prompts; absent if there is none",
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
  ...MESSAGE_EXTRAS,
  feedback: Feedback.optional().meta({ description: "Feedback on the answer; absent for none" }),
  ...MESSAGE_SUMMARY,
});
export type Message = z.infer<typeof Message>;

export const SystemEvent = z.object({
  id: z.string(),
  type: z.enum(["notice", "error", "action_requested", "action_reminder", "action_resolved", "interrupted"]),
  created_at: Timestamp,
  payload: z.record(z.string(), Json),
});
export type SystemEvent = z.infer<typeof SystemEvent>;

export type UserState = Record<string, z.infer<typeof Json>>;

/** Known keys are validated; all other keys may have any JSON value. */
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

/** Maximum N in `messages=last:N`. */
export const LAST_MESSAGES_MAX = 1_000;

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
  messages_before: z.int().min(0).optional().meta({
    description:
      "Number of messages of the session before the first one in `messages`; absent unless the request has the parameter `messages`",
  }),
});
export type Snapshot = z.infer<typeof Snapshot>;
