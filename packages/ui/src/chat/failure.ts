// User-facing descriptions of failures, with advice.

import { ColloquyError, type Message as ShownMessage } from "@colloquy/client";
import type { Message } from "./outbox-messages.ts";

export interface Failure {
  readonly sentence: string;
  /** True if another App key would help. */
  readonly needsKey: boolean;
  /**
   * For an unsent message, the number of the newest message at the time. Sending a newer one removes the
   * failure.
   */
  readonly newestMessage?: number;
  /** Messages that may have been sent. The failure is removed once the conversation contains them all. */
  readonly perhapsSent?: readonly PerhapsSent[];
}

/** A message whose outcome is unknown. */
export type PerhapsSent = Pick<Message, "text" | "after">;

const KEY_CODES = new Set(["app_key_invalid", "app_forbidden", "scope_missing"]);

/** Returns true if another App key would help. */
export function needsKey(error: unknown): boolean {
  return error instanceof ColloquyError && KEY_CODES.has(error.code);
}

/**
 * Describes the failure of a message. The outcome is unknown after a server error or without a response, and
 * if an earlier page has already sent the message (`isAgain`).
 */
export function failureOfMessage(
  error: unknown,
  { isAgain, text, after }: PerhapsSent & { readonly isAgain: boolean },
): Failure {
  if (!isAgain && !isUnknown(error)) return failureOf("Your message was not sent", error);
  const { sentence, needsKey } = failureOf("Your message may have been sent", error);
  return {
    sentence: `${sentence} Check the conversation before you send it again.`,
    needsKey,
    perhapsSent: [{ text, ...(after !== undefined && { after }) }],
  };
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
  const same = before.find(({ sentence }) => sentence === failure.sentence);
  const perhapsSent = [...(same?.perhapsSent ?? []), ...(failure.perhapsSent ?? [])];
  return [
    ...before.filter((one) => one !== same),
    { ...failure, ...(perhapsSent.length > 0 && { perhapsSent }) },
  ];
}

/**
 * Returns the messages of `failures` that were sent, because `shown` contains them. Each shown message
 * matches at most one sent message. Messages in `others`, which have no failure and are stored or in flight,
 * are matched first.
 */
export function foundIn(
  shown: readonly Pick<ShownMessage, "id" | "sender" | "content">[],
  failures: readonly Failure[],
  others: readonly PerhapsSent[],
): readonly PerhapsSent[] {
  const unknown = failures.flatMap(({ perhapsSent = [] }) => perhapsSent);
  if (unknown.length === 0) return [];
  const taken = new Set<string>();
  const take = ({ text, after }: PerhapsSent, isOther: boolean): boolean => {
    const last = shown.findIndex(({ id }) => id === after);
    const isKnown = after === null || last !== -1;
    if (!isKnown && !isOther) return false;
    const equal = shown
      .slice(last + 1)
      .filter(({ id, sender, content }) => sender === "user" && content === text && !taken.has(id));
    // At an unknown position, match the newest message, which removes the fewest failures.
    const found = isKnown ? equal[0] : equal.at(-1);
    if (found !== undefined) taken.add(found.id);
    return found !== undefined;
  };
  for (const one of others) take(one, true);
  return unknown.filter((one) => take(one, false));
}

/** Removes sent messages, and failures without remaining messages. */
export function withoutSent(before: readonly Failure[], sent: readonly PerhapsSent[]): readonly Failure[] {
  return before.flatMap((failure) => {
    const perhapsSent = failure.perhapsSent?.filter((one) => !sent.includes(one));
    if (perhapsSent === undefined) return [failure];
    return perhapsSent.length === 0 ? [] : [{ ...failure, perhapsSent }];
  });
}

/** Removes failures of messages written before the message with this number, which has been sent. */
export function withoutOlder(before: readonly Failure[], number: number): readonly Failure[] {
  return before.filter(({ newestMessage = number }) => newestMessage >= number);
}
