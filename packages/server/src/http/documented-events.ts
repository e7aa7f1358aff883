// Events of `GET /api/updates` for the OpenAPI document: one named schema per type, and their union.

import {
  AnySessionId,
  MessageCompleted,
  MessageCreated,
  MessageDelta,
  MessageUpdated,
  NOTICE_MEANINGS,
  NoticeCode,
  StateChanged,
  SystemEventAdded,
  SystemNotice,
  TitleChanged,
  ToolComplete,
  ToolUpdate,
} from "@colloquy/protocol";
import { z } from "zod";
import {
  EXAMPLE_MESSAGE,
  EXAMPLE_SESSION,
  EXAMPLE_SYSTEM_EVENT,
  Message,
  SystemEvent,
} from "./documented.ts";

const ofSession = { session_id: AnySessionId };
const WITH_TOOLS = "With `include=tools` all fields, otherwise only `type` and `session_id`";
const EXAMPLE = { session_id: EXAMPLE_SESSION };

/** All notice codes with their meanings. */
const Code = NoticeCode.meta({
  id: "NoticeCode",
  description: Object.entries(NOTICE_MEANINGS)
    .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
    .join("\n"),
  examples: ["resync"],
});

/** The fields of a tool event are all present or all absent. */
function tool({ shape }: typeof ToolUpdate | typeof ToolComplete): z.ZodObject {
  const { type, ...fields } = shape;
  const names = Object.keys(fields);
  const optional = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.optional()]),
  );
  const dependentRequired = Object.fromEntries(
    names.map((name) => [name, names.filter((other) => other !== name)]),
  );
  return z.object({ type, ...ofSession, ...optional }).meta({ dependentRequired });
}

const EVENTS = [
  TitleChanged.extend(ofSession).meta({
    id: "TitleChangedEvent",
    description: "The thread has another title",
    examples: [{ type: "title_changed", ...EXAMPLE, new_title: "Twelve times seven" }],
  }),
  tool(ToolUpdate).meta({
    id: "ToolUpdateEvent",
    description: `A tool reported progress. ${WITH_TOOLS}`,
    examples: [{ type: "tool_update", ...EXAMPLE }],
  }),
  tool(ToolComplete).meta({
    id: "ToolCompleteEvent",
    description: `A tool finished. ${WITH_TOOLS}`,
    examples: [{ type: "tool_complete", ...EXAMPLE }],
  }),
  SystemNotice.extend({ ...ofSession, code: Code }).meta({
    id: "SystemNoticeEvent",
    description: "The service tells the person something",
    examples: [
      {
        type: "system_notice",
        ...EXAMPLE,
        message: "Events after your Last-Event-ID are not available. Fetch the session's state again.",
        level: "info",
        code: "resync",
      },
    ],
  }),
  MessageCreated.extend({ ...ofSession, message: Message }).meta({
    id: "MessageCreatedEvent",
    description: "A message was added at the end. With `include=messages`",
    examples: [{ type: "message_created", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  MessageUpdated.extend({ ...ofSession, message: Message }).meta({
    id: "MessageUpdatedEvent",
    description: "A message has changed. With `include=messages`",
    examples: [{ type: "message_updated", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  MessageCompleted.extend({ ...ofSession, message: Message }).meta({
    id: "MessageCompletedEvent",
    description: "A message has changed for the last time. With `include=messages`",
    examples: [{ type: "message_completed", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  MessageDelta.extend(ofSession).meta({
    id: "MessageDeltaEvent",
    description: "An agent message has grown; live only, without an id. With `include=messages`",
    examples: [
      {
        type: "message_delta",
        ...EXAMPLE,
        message_id: "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01",
        offset: 0,
        text: "12 * 7 ",
      },
    ],
  }),
  StateChanged.extend(ofSession).meta({
    id: "StateChangedEvent",
    description: "Status, model, App or user state of the session have changed. With `include=state`",
    examples: [
      {
        type: "state_changed",
        ...EXAMPLE,
        status: "processing",
        model: "demo/assistant",
        app: "default",
        user_state: null,
      },
    ],
  }),
  SystemEventAdded.extend({ ...ofSession, item: SystemEvent }).meta({
    id: "SystemEventEvent",
    description: "A system event was added at the end. With `include=state`",
    examples: [{ type: "system_event", ...EXAMPLE, item: EXAMPLE_SYSTEM_EVENT }],
  }),
] as const;

/** One `data:` line of the stream. `openapi-document.ts` adds the discriminator, which zod cannot express. */
export const UpdateEvent = z.union(EVENTS).meta({
  id: "UpdateEvent",
  description: "What one `data:` line of the stream holds",
  examples: [{ type: "title_changed", ...EXAMPLE, new_title: "Twelve times seven" }],
});
