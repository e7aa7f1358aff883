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

/** `what` has failed is how the sentence begins: "Your message was not sent". */
export function failureOf(what: string, error: unknown): Failure {
  const isService = error instanceof ColloquyError;
  const reason = error instanceof Error ? error.message : "";
  const wait = isService && error.status === 429 && error.retryAfter !== null;
  const when = wait ? ` Try again in ${error.retryAfter} s.` : "";
  return { sentence: `${what}. ${reason}${when}`.trim(), needsKey: needsKey(error) };
}
