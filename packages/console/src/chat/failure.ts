// What has gone wrong, in words for a person, and what may help.

import { ColloquyError } from "@colloquy/client";

export interface Failure {
  readonly sentence: string;
  /** Whether another App key is what helps. */
  readonly needsKey: boolean;
}

const KEY_CODES = new Set(["app_key_invalid", "app_forbidden"]);

/** Whether another App key is what helps. */
export function needsKey(error: unknown): boolean {
  return error instanceof ColloquyError && KEY_CODES.has(error.code);
}

/**
 * What became of a message that failed. Where the service has not refused it (no answer, or that of a service in trouble), nobody knows whether
 * it has it; nor where an earlier page has sent it too (`isAgain`).
 */
export function failureOfMessage(error: unknown, { isAgain }: { readonly isAgain: boolean }): Failure {
  if (!isAgain && !isUnknown(error)) return failureOf("Your message was not sent", error);
  const { sentence, needsKey } = failureOf("Your message may have been sent", error);
  return { sentence: `${sentence} Look at the conversation before you send it again.`, needsKey };
}

/** It may have been kept by a try whose answer was lost. */
function isUnknown(error: unknown): boolean {
  return error instanceof ColloquyError && (error.status < 400 || error.status >= 500);
}

/** `what` has failed is how the sentence begins: "Your message was not sent". */
export function failureOf(what: string, error: unknown): Failure {
  const isService = error instanceof ColloquyError;
  const reason = error instanceof Error ? error.message : "";
  const wait = isService && error.status === 429 && error.retryAfter !== null;
  const when = wait ? ` Try again in ${error.retryAfter} s.` : "";
  return { sentence: `${what}. ${reason}${when}`.trim(), needsKey: needsKey(error) };
}

/** What failed before and this, as the newest. What is told in the same words is told once. */
export function withFailure(before: readonly Failure[], failure: Failure): readonly Failure[] {
  return [...before.filter(({ sentence }) => sentence !== failure.sentence), failure];
}
