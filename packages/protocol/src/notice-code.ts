import { z } from "zod";

/** What each code of a `system_notice` means: the reference and the documentation list them. */
export const NOTICE_MEANINGS = {
  resync: "what came after `Last-Event-ID` is not kept any more; fetch the snapshot",
  session_deleted: "the session was deleted; the stream ends",
  app_key_invalid:
    "the key of the stream does not open the session's App, or does not any more; the stream ends",
  action_requested: "the assistant asks something; `pending_actions` of the snapshot says what",
  wallet_differs: "a message came with another wallet than the bound one",
  model_gone: "the chosen model has left the configuration; the default is used",
  secret_missing: "a tool needed a secret of the user that is not set; the message names the slot",
  answer_cut: "the model reached its token limit; the answer ends there and is `complete`",
  answer_empty: "the model answered without any text; the message is empty and `complete`",
  turn_crashed: "the assistant was stopped three times in the middle of this answer",
  turn_timeout: "the answer took longer than `limits.turnMs`",
  turn_stalled: "nothing came for `limits.idleMs`",
  turn_step_limit: "the answer needed more than `limits.maxSteps` steps",
  app_gone: "the App was taken out of the configuration while the message waited",
  model_auth: "the provider does not accept the key",
  model_rate_limited: "the provider's limit or quota is used up",
  model_timeout: "the provider did not answer in time",
  model_unavailable: "the provider cannot be reached, or fails",
  model_refused: "the model or its provider declined",
  model_not_found: "the provider has no such model",
  model_context_overflow: "the conversation does not fit the model",
  model_error: "anything else",
} as const;

export type NoticeCode = keyof typeof NOTICE_MEANINGS;

const CODES = Object.keys(NOTICE_MEANINGS) as NoticeCode[];

export const NoticeCode = z.enum(CODES).meta({ description: "What a notice is about, for programs" });
