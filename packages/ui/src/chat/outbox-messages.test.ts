import type { Message } from "@colloquy/client";
import { expect, it } from "vitest";
import { newestOf } from "./outbox-messages.ts";

const message: Message = {
  id: "1",
  sender: "user",
  content: "Yes",
  created_at: "2026-01-01T00:00:00.000Z",
  status: "complete",
};

it.each([
  ["a session that is not loaded", null, {}],
  ["a conversation without messages", { messages: [] }, { after: null }],
  ["a conversation without messages, with a range", { messages: [], messages_before: 0 }, { after: null }],
  ["an empty range of a conversation", { messages: [], messages_before: 2 }, {}],
  ["a conversation with messages", { messages: [message], messages_before: 2 }, { after: "1" }],
])("returns the newest message of %s", (_which, snapshot, after) => {
  expect(newestOf(snapshot)).toEqual(after);
});
