// Response schemas of the OpenAPI document: names, descriptions and examples.

import * as wire from "@colloquy/protocol";
import { z } from "zod";

export const EXAMPLE_SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ASKED = "2026-11-20T12:00:00.000Z";
const ANSWERED = "2026-11-20T12:00:01.250Z";
const MESSAGE_ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const CALL = {
  id: "call_1",
  name: "calculator",
  title: "Calculator",
  arguments: { expression: "12 * 7" },
  text_offset: 0,
};
const RESULT = { call_id: "call_1", name: "calculator", output: 84, is_error: false, duration_ms: 1 };

export const Thread = wire.Thread.meta({
  id: "Thread",
  description: "Summary of a conversation, as lists show it",
  examples: [
    {
      session_id: EXAMPLE_SESSION,
      title: "Twelve times seven",
      app: "default",
      pinned: false,
      metadata: { project: "bridge" },
      created_at: ASKED,
      updated_at: ANSWERED,
    },
  ],
});

export const SearchPage = wire.SearchPage.meta({
  id: "SearchPage",
  description: "A page of found messages",
  examples: [
    {
      results: [
        {
          session_id: EXAMPLE_SESSION,
          title: "Twelve times seven",
          message_id: MESSAGE_ID,
          sender: "agent",
          created_at: ANSWERED,
          snippet: [{ text: "12 * 7 is " }, { text: "84", match: true }, { text: "." }],
        },
      ],
      next_cursor: null,
    },
  ],
});

export const Attachment = wire.Attachment.meta({
  id: "Attachment",
  description: "A file of a session",
  examples: [
    {
      id: "019a9c1e-7d11-7b52-8c0e-5a9f5b0c1d22",
      media_type: "image/png",
      bytes: 48_213,
      sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
      name: "bridge.png",
    },
  ],
});

export const WalletToken = wire.WalletToken.meta({
  id: "WalletToken",
  description: "A token that holds wallets, for 15 minutes at most",
  examples: [
    {
      token: "eyJhbGciOiJIUzI1NiJ9…",
      expires_at: ANSWERED,
      expires_in: 900,
      wallets: ["0x8ba1f109551bd432803012645ac136ddd64dba72"],
    },
  ],
});

export const DeletedThread = wire.DeletedThread.meta({
  id: "DeletedThread",
  description: "The thread and its messages were deleted",
  examples: [{ session_id: EXAMPLE_SESSION, deleted: true }],
});

export const PersistedMessage = wire.PersistedMessage.meta({
  id: "PersistedMessage",
  description: "A stored message",
  examples: [
    {
      id: MESSAGE_ID,
      session_id: EXAMPLE_SESSION,
      thread_id: EXAMPLE_SESSION,
      role: "assistant",
      content: "12 * 7 is 84.",
      tool_calls: [{ ...CALL, status: "complete" }],
      tool_results: [RESULT],
      created_at: ANSWERED,
      turn: 1,
    },
  ],
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

const Message = wire.Message.meta({
  id: "Message",
  description: "A message as snapshots and events show it",
  examples: [EXAMPLE_MESSAGE],
});

const EXAMPLE_SYSTEM_EVENT = {
  id: "k3f9-41",
  type: "interrupted",
  created_at: ANSWERED,
  payload: { turns: 1 },
};

const SystemEvent = wire.SystemEvent.meta({
  id: "SystemEvent",
  description: "An event that is not a message",
  examples: [EXAMPLE_SYSTEM_EVENT],
});

export const Snapshot = wire.Snapshot.extend({
  messages: z.array(Message),
  system_events: z.array(SystemEvent),
}).meta({
  id: "Snapshot",
  description: "Snapshot of a session",
  examples: [
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
  ],
});

export const ActionClaim = wire.ActionClaim.meta({
  id: "ActionClaim",
  description: "A client's claim to run a call",
  examples: [{ claim: "5b1d0a4e-3c55-4c1f-9e0a-2f6d8a7b9c10", expires_at: ASKED }],
});

export const Action = wire.Action.meta({
  id: "Action",
  description: "Something that a person is asked before the assistant goes on",
  examples: [
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
  ],
});

export const ApproverAction = wire.ApproverAction.meta({
  id: "ApproverAction",
  description: "An action as shown to approvers, without other data of the conversation",
  examples: [
    {
      id: "019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b11",
      app: "support",
      tool: "refund",
      title: "Refund a payment",
      input: { order: "A-1042", amount: 250 },
      created_at: ASKED,
      expires_at: "2026-11-22T12:00:00.000Z",
      status: "pending",
      resolved_at: null,
    },
  ],
});

export const SetModelResult = wire.SetModelResult.meta({
  id: "SetModelResult",
  description: "Current models",
  examples: [{ success: true, rig: "demo/assistant", baml: "demo/assistant", created: false }],
});

export const AppDescriptor = wire.AppDescriptor.meta({
  id: "AppDescriptor",
  description: "An App that the client may use",
  examples: [{ name: "default", suggestions: ["What is 12 * 7?"] }],
});

export const Page = wire.Page.meta({
  id: "Page",
  description: "What a page needs before anybody has signed in",
  examples: [
    {
      app: "default",
      branding: { name: "Harbour", accent: "#1d4ed8" },
      wallets: false,
      guide: true,
      requires_sign_in: true,
      sign_in: {
        issuer: "https://login.example.com",
        client_id: "colloquy-console",
        scope: "openid profile offline_access",
        parameters: { resource: "https://chat.example.com" },
        token: "access_token",
        provider: {
          authorization_endpoint: "https://login.example.com/authorize",
          token_endpoint: "https://login.example.com/token",
          end_session_endpoint: "https://login.example.com/logout",
        },
      },
      operator_sign_in: null,
    },
  ],
});

export const Problem = wire.Problem.meta({
  id: "Problem",
  description: "Why a request failed, and what to do about it (RFC 9457)",
  examples: [
    {
      type: "about:blank",
      title: "Bad Request",
      status: 400,
      detail: "Send the header X-Session-Id with a UUID that you chose for the conversation.",
      code: "session_id_missing",
      request_id: "1b560966278e-1",
    },
  ],
});

// Responses of the admin API.
export const AdminOverview = wire.AdminOverview.meta({
  id: "AdminOverview",
  description: "How the service is doing at this moment",
});
export const AdminSession = wire.AdminSession.meta({
  id: "AdminSession",
  description: "A session as an operator sees it",
});
export const AdminMessage = wire.AdminMessage.meta({
  id: "AdminMessage",
  description: "A stored message as an operator sees it",
});
export const AdminSessionPage = wire.AdminSessionPage.meta({
  id: "AdminSessionPage",
  description: "Some of the sessions that were looked for",
});
export const AdminSessionDetail = wire.AdminSessionDetail.meta({
  id: "AdminSessionDetail",
  description: "A session with its turns",
});
export const AdminApp = wire.AdminApp.meta({ id: "AdminApp", description: "An App as an operator sees it" });
export const AdminKey = wire.AdminKey.meta({
  id: "AdminKey",
  description: "A key that opens Apps, without its secret",
});
export const IssuedAdminKey = wire.IssuedAdminKey.meta({
  id: "IssuedAdminKey",
  description: "A key that was just made",
});
export const AdminFeedbackPage = wire.AdminFeedbackPage.meta({
  id: "AdminFeedbackPage",
  description: "A page of feedback on answers",
});
export const GivenFeedback = z
  .object({ feedback: wire.Feedback.nullable().meta({ description: "`null` if it was removed" }) })
  .meta({
    id: "GivenFeedback",
    description: "The feedback on an answer",
    examples: [
      {
        feedback: {
          score: -1,
          comment: "The fee is missing.",
          tags: ["incomplete"],
          created_at: "2026-11-20T17:00:00.000Z",
        },
      },
    ],
  });
export const AuditPage = wire.AuditPage.meta({ id: "AuditPage", description: "A page of the audit trail" });
export const AdminUsage = wire.AdminUsage.meta({ id: "AdminUsage", description: "What was used, by time" });
export const AdminLatency = wire.AdminLatency.meta({
  id: "AdminLatency",
  description: "How long turns took, by time",
});

const ofSession = { session_id: wire.AnySessionId };
const WITH_TOOLS = "With `include=tools` all fields, otherwise only `type` and `session_id`";
const EXAMPLE = { session_id: EXAMPLE_SESSION };

/** All notice codes with their meanings. */
const Code = wire.NoticeCode.meta({
  id: "NoticeCode",
  description: Object.entries(wire.NOTICE_MEANINGS)
    .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
    .join("\n"),
  examples: ["resync"],
});

/** Returns the schema of a tool event. Its fields are all present or all absent. */
function tool({ shape }: typeof wire.ToolUpdate | typeof wire.ToolComplete): z.ZodObject {
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
  wire.TitleChanged.extend(ofSession).meta({
    id: "TitleChangedEvent",
    description: "The thread has another title",
    examples: [{ type: "title_changed", ...EXAMPLE, new_title: "Twelve times seven" }],
  }),
  tool(wire.ToolUpdate).meta({
    id: "ToolUpdateEvent",
    description: `A tool reported progress. ${WITH_TOOLS}`,
    examples: [{ type: "tool_update", ...EXAMPLE }],
  }),
  tool(wire.ToolComplete).meta({
    id: "ToolCompleteEvent",
    description: `A tool finished. ${WITH_TOOLS}`,
    examples: [{ type: "tool_complete", ...EXAMPLE }],
  }),
  wire.SystemNotice.extend({ ...ofSession, code: Code }).meta({
    id: "SystemNoticeEvent",
    description: "A notice for the person",
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
  wire.MessageCreated.extend({ ...ofSession, message: Message }).meta({
    id: "MessageCreatedEvent",
    description: "A message was added at the end. With `include=messages`",
    examples: [{ type: "message_created", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  wire.MessageUpdated.extend({ ...ofSession, message: Message }).meta({
    id: "MessageUpdatedEvent",
    description: "A message has changed. With `include=messages`",
    examples: [{ type: "message_updated", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  wire.MessageCompleted.extend({ ...ofSession, message: Message }).meta({
    id: "MessageCompletedEvent",
    description: "A message has changed for the last time. With `include=messages`",
    examples: [{ type: "message_completed", ...EXAMPLE, message: EXAMPLE_MESSAGE }],
  }),
  wire.MessagesRemoved.extend(ofSession).meta({
    id: "MessagesRemovedEvent",
    description:
      "A message was replaced, and everything after it removed. With `include=messages`; other subscribers get a `system_notice` of code `resync`",
    examples: [{ type: "messages_removed", ...EXAMPLE, from: MESSAGE_ID }],
  }),
  wire.MessageDelta.extend(ofSession).meta({
    id: "MessageDeltaEvent",
    description: "An agent message has grown; live only, without an id. With `include=messages`",
    examples: [
      {
        type: "message_delta",
        ...EXAMPLE,
        message_id: MESSAGE_ID,
        offset: 0,
        text: "12 * 7 ",
      },
    ],
  }),
  wire.ReasoningDelta.extend(ofSession).meta({
    id: "ReasoningDeltaEvent",
    description:
      "The model's reasoning has grown; live only, without an id. Stored reasoning is in `GET /api/sessions/{id}/messages`. With `include=reasoning`",
    examples: [
      {
        type: "reasoning_delta",
        ...EXAMPLE,
        message_id: MESSAGE_ID,
        step: 1,
        offset: 0,
        text: "The user wants ",
      },
    ],
  }),
  wire.StateChanged.extend(ofSession).meta({
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
  wire.ActionClaimed.extend(ofSession).meta({
    id: "ActionClaimedEvent",
    description: "A client has claimed a `client_tool`, renewed its claim, or lost it. With `include=state`",
    examples: [
      {
        type: "action_claimed",
        ...EXAMPLE,
        id: "019a9c1e-6c11-7a02-b3a1-5d0c7f2e9b10",
        claim_expires_at: ASKED,
      },
    ],
  }),
  wire.SystemEventAdded.extend({ ...ofSession, item: SystemEvent }).meta({
    id: "SystemEventEvent",
    description: "A system event was added at the end. With `include=state`",
    examples: [{ type: "system_event", ...EXAMPLE, item: EXAMPLE_SYSTEM_EVENT }],
  }),
] as const;

/** One `data:` line of the stream. `openapi-document.ts` adds the discriminator, which zod cannot express. */
export const UpdateEvent = z.union(EVENTS).meta({
  id: "UpdateEvent",
  description: "The JSON of one `data:` line",
  examples: [{ type: "title_changed", ...EXAMPLE, new_title: "Twelve times seven" }],
});
