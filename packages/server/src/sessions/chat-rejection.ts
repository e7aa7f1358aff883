import type { ChatRejection } from "../core/commands/chat.ts";
import { Conflict, InvalidRequest, ServiceError, Unavailable } from "../core/errors.ts";

/** Returns the error for a rejected chat. */
export function chatRejection(reason: ChatRejection): ServiceError {
  switch (reason) {
    case "app_mismatch":
      return new Conflict(
        reason,
        "This session belongs to another App. Use that App, or start a session of its own here.",
      );
    case "session_busy":
      return new Conflict(
        reason,
        "The assistant is still answering. Wait until is_processing is false, or interrupt it.",
      );
    case "queue_full":
      return new ServiceError(
        429,
        reason,
        "Too many messages wait in this session. Wait for answers, or interrupt.",
        {
          headers: { "retry-after": "5" },
        },
      );
    case "session_full":
      return new Conflict(
        reason,
        "This conversation is full. Start a new thread to go on; the messages in this one stay readable.",
      );
    case "user_state_too_large":
      return new InvalidRequest(
        reason,
        "The merged user_state must be at most 8 KiB of JSON, nested at most 16 deep.",
      );
    case "idempotency_key_reused":
      return new Conflict(
        reason,
        "This Idempotency-Key was used with another message. Use a new key for a new message.",
      );
  }
}

/** Returns the error for a chat when the maximum number of turns waits (contract section 3). */
export function tooManyWaiting(): ServiceError {
  const detail = "Too many messages wait for the assistant at the moment. Send this one again later.";
  return new Unavailable(503, "too_many_waiting", detail, 5);
}
