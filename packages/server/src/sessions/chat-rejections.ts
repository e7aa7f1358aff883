import type { ChatRejection } from "../core/commands/chat.ts";
import { ServiceError } from "../core/errors.ts";

/** Status and detail of the error for each rejection. */
const REJECTIONS: Readonly<Record<ChatRejection, readonly [status: number, detail: string]>> = {
  app_mismatch: [
    409,
    "This session belongs to another App. Use that App, or start a session of its own here.",
  ],
  session_busy: [
    409,
    "The assistant is still answering. Wait until is_processing is false, or interrupt it.",
  ],
  queue_full: [429, "Too many messages wait in this session. Wait for answers, or interrupt."],
  session_full: [
    409,
    "This conversation is full. Start a new thread to go on; the messages in this one stay readable.",
  ],
  message_not_found: [
    404,
    "The session has no message with the id in `replaces`. Its snapshot shows the ids of its messages.",
  ],
  message_exists: [
    409,
    "The session has a message with this id and another text. Choose a new UUID for a new message.",
  ],
  not_a_user_message: [
    400,
    "`replaces` must be the id of a user's message. To regenerate an answer, send the id of the user's message before it.",
  ],
  user_state_too_large: [400, "The merged user_state must be at most 8 KiB of JSON, nested at most 16 deep."],
  idempotency_key_reused: [
    409,
    "This Idempotency-Key was used with another message. Use a new key for a new message.",
  ],
};

export function chatRejection(reason: ChatRejection): ServiceError {
  const [status, detail] = REJECTIONS[reason];
  return new ServiceError(status, reason, detail, status === 429 ? { headers: { "retry-after": "5" } } : {});
}
