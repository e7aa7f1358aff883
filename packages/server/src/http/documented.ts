// Response schemas of the OpenAPI document: names, descriptions and examples.

import {
  Action as PersonAction,
  AppDescriptor as App,
  DeletedThread as Deleted,
  Message as SnapshotMessage,
  PersistedMessage as MessageRecord,
  Problem as ProblemDocument,
  SetModelResult as ModelSet,
  Snapshot as SessionSnapshot,
  SystemEvent as SessionSystemEvent,
  Thread as SessionThread,
} from "@colloquy/protocol";
import { z } from "zod";

export const EXAMPLE_SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ASKED = "2026-11-20T12:00:00.000Z";
const ANSWERED = "2026-11-20T12:00:01.250Z";
const MESSAGE_ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const CALL = { id: "call_1", name: "calculator", arguments: { expression: "12 * 7" }, text_offset: 0 };
const RESULT = { call_id: "call_1", name: "calculator", output: 84, is_error: false, duration_ms: 1 };

export const Thread = SessionThread.meta({
  id: "Thread",
  description: "A conversation in short",
  examples: [
    {
      session_id: EXAMPLE_SESSION,
      title: "Twelve times seven",
      app: "default",
      created_at: ASKED,
      updated_at: ANSWERED,
    },
  ],
});

export const DeletedThread = Deleted.meta({
  id: "DeletedThread",
  description: "Says that the thread and its messages are gone",
  examples: [{ session_id: EXAMPLE_SESSION, deleted: true }],
});

export const PersistedMessage = MessageRecord.meta({
  id: "PersistedMessage",
  description: "A message as it is kept",
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
    },
  ],
});

export const EXAMPLE_MESSAGE = {
  sender: "agent",
  content: "12 * 7 is 84.",
  id: MESSAGE_ID,
  created_at: ANSWERED,
  status: "complete",
  tool_calls: [{ ...CALL, status: "complete" }],
  tool_results: [RESULT],
};

export const Message = SnapshotMessage.meta({
  id: "Message",
  description: "A message as snapshots and events show it",
  examples: [EXAMPLE_MESSAGE],
});

export const EXAMPLE_SYSTEM_EVENT = {
  id: "k3f9-41",
  type: "interrupted",
  created_at: ANSWERED,
  payload: { turns: 1 },
};

export const SystemEvent = SessionSystemEvent.meta({
  id: "SystemEvent",
  description: "Something that happened beside messages",
  examples: [EXAMPLE_SYSTEM_EVENT],
});

export const Snapshot = SessionSnapshot.extend({
  messages: z.array(Message),
  system_events: z.array(SystemEvent),
}).meta({
  id: "Snapshot",
  description: "A session as it is now",
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

export const Action = PersonAction.meta({
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

export const SetModelResult = ModelSet.meta({
  id: "SetModelResult",
  description: "The models that are now in force",
  examples: [{ success: true, rig: "demo/assistant", baml: "demo/assistant", created: false }],
});

export const AppDescriptor = App.meta({
  id: "AppDescriptor",
  description: "An App that the client may use",
  examples: [{ name: "default" }],
});

export const Problem = ProblemDocument.meta({
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
