// Failures that the agent loop itself detects.

import type { TurnFailure } from "../core/turn.ts";

export const REFUSED: TurnFailure = {
  code: "model_refused",
  message:
    "The assistant's model provider stopped this answer because of its rules on content. Try to say it differently.",
};

/** Failure of a waiting turn whose App was removed from the configuration, and with it its model and tools. */
export const APP_GONE: TurnFailure = {
  code: "app_gone",
  message:
    "This assistant is no longer offered, so your message cannot be answered. Start a new conversation.",
};

export const SCHEMA_MISMATCH: TurnFailure = {
  code: "schema_mismatch",
  message:
    "The assistant's answer did not have the requested form. Send your message again, or request a simpler form.",
};

export const STEP_LIMIT: TurnFailure = {
  code: "turn_step_limit",
  message:
    "The assistant needed more steps than one answer may have, and was stopped. Ask for less at a time.",
};
