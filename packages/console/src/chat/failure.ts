// User-facing descriptions of failures, with advice.

import { ColloquyError } from "@colloquy/client";

export interface Failure {
  readonly sentence: string;
  /** True if another App key would help. */
  readonly needsKey: boolean;
  /** For an unsent message, the number of the newest message at that time. Sending a newer one removes the failure. */
  readonly newestMessage?: number;
}

const KEY_CODES = new Set(["app_key_invalid", "app_forbidden", "scope_missing"]);

/** Returns true if another App key would help. */
export function needsKey(error: unknown): boolean {
  return error instanceof ColloquyError && KEY_CODES.has(error.code);
}

/**
 * Describes the failure of a message. The outcome is unknown without a refusal by the service, that is after
 * a server error or no response, and if an earlier page has sent the message too (`isAgain`).
 */
export function failureOfMessage(error: unknown, { isAgain }: { readonly isAgain: boolean }): Failure {
  if (!isAgain && !isUnknown(error)) return failureOf("Your message was not sent", error);
  const { sentence, needsKey } = failureOf("Your message may have been sent", error);
  return { sentence: `${sentence} Look at the conversation before you send it again.`, needsKey };
}

/** Returns true if the outcome is unknown: the message may be stored although its response was lost. */
function isUnknown(error: unknown): boolean {
  return error instanceof ColloquyError && (error.status < 400 || error.status >= 500);
}

/** Describes a failure. `what` starts the sentence, for example "Your message was not sent". */
export function failureOf(what: string, error: unknown): Failure {
  const isService = error instanceof ColloquyError;
  const reason = error instanceof Error ? error.message : "";
  const wait = isService && error.status === 429 && error.retryAfter !== null;
  const when = wait ? ` Try again in ${error.retryAfter} s.` : "";
  return { sentence: `${what}. ${reason}${when}`.trim(), needsKey: needsKey(error) };
}

/** Appends a failure. Equal sentences are shown once. */
export function withFailure(before: readonly Failure[], failure: Failure): readonly Failure[] {
  return [...before.filter(({ sentence }) => sentence !== failure.sentence), failure];
}

/** Removes the failures of messages that were written before the message with this number, which was sent. */
export function withoutSettled(before: readonly Failure[], number: number): readonly Failure[] {
  return before.filter(({ newestMessage = number }) => newestMessage >= number);
}
