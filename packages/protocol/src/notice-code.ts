import { z } from "zod";

/** Meanings of the codes of a `system_notice`, listed in the reference and the documentation. */
export const NOTICE_MEANINGS = {
  resync: "events after `Last-Event-ID` are no longer stored, or a message was replaced; fetch the snapshot",
  session_deleted: "the session was deleted; the stream ends",
  session_not_found: "the session belongs to another user; the stream ends",
  user_token_expired:
    "the user's token has expired or was revoked; the stream ends; resume it with the next token",
  app_key_invalid:
    "the key of the stream does not open the session's App, or no longer does; the stream ends",
  action_requested: "the assistant needs a decision; see `pending_actions` of the snapshot",
  wallet_differs: "a message named another wallet than the bound one",
  model_gone: "the selected model was removed from the configuration; the default is used",
  secret_missing: "a tool needed a secret of the user that is not set; the message names the slot",
  answer_cut: "the model reached its token limit; the answer ends there and is `complete`",
  answer_empty: "the model answered without text; the message is empty and `complete`",
  turn_crashed: "the assistant stopped three times during this answer",
  turn_timeout: "the answer took longer than `limits.turnMs`",
  turn_stalled: "the model sent nothing for `limits.idleMs`",
  turn_step_limit: "the answer needed more than `limits.maxSteps` steps",
  app_gone: "the App was removed from the configuration while the message waited",
  schema_mismatch: "the answer did not match the chat's `response_schema`, nor did a second one",
  model_auth: "the provider rejects the key",
  model_rate_limited: "the provider's rate limit or quota is exhausted",
  model_timeout: "the provider did not answer in time",
  model_unavailable: "the provider is unreachable or fails",
  model_refused: "the model or its provider declined",
  model_not_found: "the provider does not have the model",
  model_context_overflow: "the conversation exceeds the model's context window",
  model_error: "anything else",
} as const;

export type NoticeCode = keyof typeof NOTICE_MEANINGS;

const CODES = Object.keys(NOTICE_MEANINGS) as NoticeCode[];

export const NoticeCode = z.enum(CODES).meta({ description: "Machine-readable subject of the notice" });
