// Response schemas of the OpenAPI document: names, descriptions and examples.

import * as wire from "@colloquy/protocol";
import { z } from "zod";

export const EXAMPLE_SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ASKED = "2026-11-20T12:00:00.000Z";
const ANSWERED = "2026-11-20T12:00:01.250Z";
const MESSAGE_ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const CALL = { id: "call_1", name: "calculator", arguments: { expression: "12 * 7" }, text_offset: 0 };
const RESULT = { call_id: "call_1", name: "calculator", output: 84, is_error: false, duration_ms: 1 };

function named<Schema extends z.ZodType>(
  schema: Schema,
  id: string,
  description: string,
  example?: object,
): Schema {
  return schema.meta({ id, description, ...(example !== undefined && { examples: [example] }) });
}

export const Thread = named(wire.Thread, "Thread", "A conversation in short", {
  session_id: EXAMPLE_SESSION,
  title: "Twelve times seven",
  app: "default",
  created_at: ASKED,
  updated_at: ANSWERED,
});

export const DeletedThread = named(
  wire.DeletedThread,
  "DeletedThread",
  "Says that the thread and its messages are gone",
  { session_id: EXAMPLE_SESSION, deleted: true },
);

export const PersistedMessage = named(wire.PersistedMessage, "PersistedMessage", "A message as it is kept", {
  id: MESSAGE_ID,
  session_id: EXAMPLE_SESSION,
  thread_id: EXAMPLE_SESSION,
  role: "assistant",
  content: "12 * 7 is 84.",
  tool_calls: [{ ...CALL, status: "complete" }],
  tool_results: [RESULT],
  created_at: ANSWERED,
});

const EXAMPLE_MESSAGE = {
  sender: "agent",
  content: "12 * 7 is 84.",
  id: MESSAGE_ID,
  created_at: ANSWERED,
  status: "complete",
  tool_calls: [{ ...CALL, status: "complete" }],
  tool_results: [RESULT],
};

const Message = named(wire.Message, "Message", "A message as snapshots and events show it", EXAMPLE_MESSAGE);

const EXAMPLE_SYSTEM_EVENT = {
  id: "k3f9-41",
  type: "interrupted",
  created_at: ANSWERED,
  payload: { turns: 1 },
};

const SystemEvent = named(
  wire.SystemEvent,
  "SystemEvent",
  "Something that happened beside messages",
  EXAMPLE_SYSTEM_EVENT,
);

export const Snapshot = named(
  wire.Snapshot.extend({ messages: z.array(Message), system_events: z.array(SystemEvent) }),
  "Snapshot",
  "A session as it is now",
  {
    messages: [
      {
        sender: "user",
        content: "what is 12 * 7?",
        id: "019a9c1e-6b5f-7b21-8f0e-64e9d0a1b200",
        created_at: ASKED,
        status: "complete",
      },
      EXAMPLE_MESSAGE,
    ],
    system_events: [],
    pending_actions: [],
    title: "Twelve times seven",
    is_processing: false,
    user_state: { evm: { address: "0x8ba1f109551bd432803012645ac136ddd64dba72", chain_id: 1 } },
    session_id: EXAMPLE_SESSION,
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: "k3f9-42",
  },
);

export const Action = named(
  wire.Action,
  "Action",
  "Something that a person is asked before the assistant goes on",
  {
    id: "019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b10",
    kind: "approval",
    tool: "send_mail",
    call_id: "call_2",
    created_at: ASKED,
    expires_at: "2026-11-20T12:10:00.000Z",
    request: { tool: "send_mail", input: { to: "ada@example.com", subject: "Hello" } },
    status: "approved",
    result: null,
    resolved_at: ANSWERED,
  },
);

export const SetModelResult = named(
  wire.SetModelResult,
  "SetModelResult",
  "The models that are now in force",
  { success: true, rig: "demo/assistant", baml: "demo/assistant", created: false },
);

export const AppDescriptor = named(wire.AppDescriptor, "AppDescriptor", "An App that the client may use", {
  name: "default",
});

export const Problem = named(
  wire.Problem,
  "Problem",
  "Why a request failed, and what to do about it (RFC 9457)",
  {
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: "Send the header X-Session-Id with a UUID that you chose for the conversation.",
    code: "session_id_missing",
    request_id: "1b560966278e-1",
  },
);

export const AdminOverview = named(
  wire.AdminOverview,
  "AdminOverview",
  "How the service is doing at this moment",
);
export const AdminSession = named(wire.AdminSession, "AdminSession", "A session as an operator sees it");
export const AdminSessionPage = named(
  wire.AdminSessionPage,
  "AdminSessionPage",
  "Some of the sessions that were looked for",
);
export const AdminSessionDetail = named(
  wire.AdminSessionDetail,
  "AdminSessionDetail",
  "A session with its turns",
);
export const AdminApp = named(wire.AdminApp, "AdminApp", "An App as an operator sees it");
export const AdminKey = named(wire.AdminKey, "AdminKey", "A key that opens Apps, without its secret");
export const IssuedAdminKey = named(wire.IssuedAdminKey, "IssuedAdminKey", "A key that was just made");
export const AdminUsage = named(wire.AdminUsage, "AdminUsage", "What was used, by time");
export const AdminLatency = named(wire.AdminLatency, "AdminLatency", "How long turns took, by time");

/** All notice codes with their meanings. */
const Code = wire.NoticeCode.meta({
  id: "NoticeCode",
  description: Object.entries(wire.NOTICE_MEANINGS)
    .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
    .join("\n"),
  examples: ["resync"],
});

const WITH_TOOLS = "With `include=tools` all fields, otherwise only `type` and `session_id`";
const TITLE_CHANGED = { type: "title_changed", new_title: "Twelve times seven" };
const ofSession = { session_id: wire.AnySessionId };

function event(schema: z.ZodObject, id: string, description: string, example: object): z.ZodObject {
  return named(schema.extend(ofSession), id, description, { session_id: EXAMPLE_SESSION, ...example });
}

/** The fields of a tool event are all present or all absent. */
function toolEvent(schema: z.ZodObject, id: string, description: string, example: object): z.ZodObject {
  const { type, ...fields } = schema.shape;
  const names = Object.keys(fields);
  const dependentRequired = Object.fromEntries(
    names.map((name) => [name, names.filter((other) => other !== name)]),
  );
  // One call of `meta`: a second one loses the `id` of the first.
  return z.object({ type, ...ofSession, ...z.object(fields).partial().shape }).meta({
    id,
    description,
    examples: [{ session_id: EXAMPLE_SESSION, ...example }],
    dependentRequired,
  });
}

const EVENTS = [
  event(wire.TitleChanged, "TitleChangedEvent", "The thread has another title", TITLE_CHANGED),
  toolEvent(wire.ToolUpdate, "ToolUpdateEvent", `A tool reported progress. ${WITH_TOOLS}`, {
    type: "tool_update",
  }),
  toolEvent(wire.ToolComplete, "ToolCompleteEvent", `A tool finished. ${WITH_TOOLS}`, {
    type: "tool_complete",
  }),
  event(
    wire.SystemNotice.extend({ code: Code }),
    "SystemNoticeEvent",
    "The service tells the person something",
    {
      type: "system_notice",
      message: "Events after your Last-Event-ID are not available. Fetch the session's state again.",
      level: "info",
      code: "resync",
    },
  ),
  event(
    wire.MessageCreated.extend({ message: Message }),
    "MessageCreatedEvent",
    "A message was added at the end. With `include=messages`",
    { type: "message_created", message: EXAMPLE_MESSAGE },
  ),
  event(
    wire.MessageUpdated.extend({ message: Message }),
    "MessageUpdatedEvent",
    "A message has changed. With `include=messages`",
    { type: "message_updated", message: EXAMPLE_MESSAGE },
  ),
  event(
    wire.MessageCompleted.extend({ message: Message }),
    "MessageCompletedEvent",
    "A message has changed for the last time. With `include=messages`",
    { type: "message_completed", message: EXAMPLE_MESSAGE },
  ),
  event(
    wire.MessageDelta,
    "MessageDeltaEvent",
    "An agent message has grown; live only, without an id. With `include=messages`",
    { type: "message_delta", message_id: MESSAGE_ID, offset: 0, text: "12 * 7 " },
  ),
  event(
    wire.StateChanged,
    "StateChangedEvent",
    "Status, model, App or user state of the session have changed. With `include=state`",
    {
      type: "state_changed",
      status: "processing",
      model: "demo/assistant",
      app: "default",
      user_state: null,
    },
  ),
  event(
    wire.SystemEventAdded.extend({ item: SystemEvent }),
    "SystemEventEvent",
    "A system event was added at the end. With `include=state`",
    { type: "system_event", item: EXAMPLE_SYSTEM_EVENT },
  ),
] as const;

/** One `data:` line of the stream. `openapi-document.ts` adds the discriminator, which zod cannot express. */
export const UpdateEvent = named(
  z.union(EVENTS),
  "UpdateEvent",
  "What one `data:` line of the stream holds",
  { session_id: EXAMPLE_SESSION, ...TITLE_CHANGED },
);
