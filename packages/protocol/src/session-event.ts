// The events of a session, one definition each. The event log stores this shape, `visibility` defines which
// subscribers receive it, and folding all events over a snapshot gives the next snapshot (contract section
// 5).

import { z } from "zod";
import { Json } from "./json.ts";
import { NoticeCode } from "./notice-code.ts";
import { Timestamp } from "./timestamp.ts";
import { Message, SessionStatus, SystemEvent, ToolCallStatus, ToolResult, UserState } from "./snapshot.ts";

export const NoticeLevel = z.enum(["info", "warning", "error"]);
export type NoticeLevel = z.infer<typeof NoticeLevel>;

const toolFields = {
  call_id: z.string(),
  name: z.string(),
  status: ToolCallStatus,
  arguments: Json,
};

export const TitleChanged = z.object({ type: z.literal("title_changed"), new_title: z.string() });
export const ToolUpdate = z.object({
  type: z.literal("tool_update"),
  ...toolFields,
  progress: Json.nullable(),
});
export const ToolComplete = z.object({
  type: z.literal("tool_complete"),
  ...toolFields,
  result: ToolResult.omit({ call_id: true, name: true }),
});
export const SystemNotice = z.object({
  type: z.literal("system_notice"),
  message: z.string(),
  level: NoticeLevel,
  code: NoticeCode,
});
const messageFields = {
  message: Message,
  index: z.int().min(0).optional().meta({
    description:
      "Number of messages before it in the session; a client that lacks the message inserts it there. Absent in events of an older service",
  }),
};

export const MessageCreated = z.object({ type: z.literal("message_created"), ...messageFields });
export const MessageUpdated = z.object({ type: z.literal("message_updated"), ...messageFields });
export const MessageCompleted = z.object({ type: z.literal("message_completed"), ...messageFields });
export const MessagesRemoved = z.object({
  type: z.literal("messages_removed"),
  from: z.uuid().meta({
    description:
      "Id of the first removed message. It, the messages after it, and the system events not older than it are gone",
  }),
});
export const StateChanged = z.object({
  type: z.literal("state_changed"),
  status: SessionStatus,
  model: z.string(),
  app: z.string(),
  user_state: UserState.nullable(),
});
export const SystemEventAdded = z.object({ type: z.literal("system_event"), item: SystemEvent });
export const ActionClaimed = z.object({
  type: z.literal("action_claimed"),
  id: z.uuid(),
  claim_expires_at: Timestamp.nullable().meta({
    description: "Time until which a client has claimed the action; `null` once the claim lapsed",
  }),
});

/** Every event that has a number and is logged. */
export const SessionEvent = z.discriminatedUnion("type", [
  TitleChanged,
  ToolUpdate,
  ToolComplete,
  SystemNotice,
  MessageCreated,
  MessageUpdated,
  MessageCompleted,
  MessagesRemoved,
  StateChanged,
  SystemEventAdded,
  ActionClaimed,
]);
export type SessionEvent = z.infer<typeof SessionEvent>;

/** Text appended to an agent message: streamed only, unnumbered, never logged. */
export const MessageDelta = z.object({
  type: z.literal("message_delta"),
  message_id: z.uuid(),
  offset: z.number().meta({ description: "Length of the message before `text`, in UTF-16 code units" }),
  text: z.string(),
});
export type MessageDelta = z.infer<typeof MessageDelta>;

/** Reasoning of the running model call: streamed only, unnumbered, never logged. */
export const ReasoningDelta = z.object({
  type: z.literal("reasoning_delta"),
  message_id: z.uuid(),
  step: z.int().min(1).meta({ description: "Number of the model call within its turn" }),
  offset: z.int().min(0).meta({
    description:
      "Length of the step's reasoning before `text`, in UTF-16 code units. At 0, `text` replaces all of it: the call was repeated, or the stream was resumed",
  }),
  text: z.string(),
});
export type ReasoningDelta = z.infer<typeof ReasoningDelta>;

export const IncludeGroup = z.enum(["tools", "messages", "state", "reasoning"]);
export type IncludeGroup = z.infer<typeof IncludeGroup>;

/** An event of `GET /api/updates`, as the subscriber's `include` permits, with its session id. */
export type UpdateEvent = { session_id: string } & (
  | SessionEvent
  | MessageDelta
  | ReasoningDelta
  | { type: "tool_update" }
  | { type: "tool_complete" }
);
