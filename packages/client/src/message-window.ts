// Merges snapshots of sessions that load only their latest messages.

import type { Message, Snapshot } from "./wire.ts";

/** Maximum number of messages in a response. */
const MAX = 1_000;

/** Messages to request in addition to the loaded ones, for those that were added since. */
const NEW = 20;

/**
 * Returns the number of messages to request so that the snapshot includes the loaded ones; `undefined` for
 * all messages. `least` is the number for the first snapshot.
 */
export function wantedMessages(least: number | undefined, loaded: Snapshot | null): number | undefined {
  return least === undefined || loaded === null
    ? least
    : Math.min(MAX, Math.max(least, loaded.messages.length + NEW));
}

/**
 * Returns `after`, beginning with the first message of `before`: drops earlier messages, or prepends missing
 * ones from `before`. Returns `after` unchanged if the two snapshots do not overlap, because messages between
 * them may be missing.
 */
export function withLoaded(before: Snapshot | null, after: Snapshot): Snapshot {
  const { messages_before: known } = before ?? {};
  const { messages_before: first } = after;
  if (before === null || known === undefined || first === undefined || known === first) return after;
  if (first < known) {
    const at = indexOf(after, before.messages[0]);
    return at < 0 ? after : { ...after, messages: after.messages.slice(at), messages_before: known };
  }
  const at = indexOf(before, after.messages[0]);
  const earlier = before.messages.slice(0, Math.max(0, at));
  // Only final messages are certain to be unchanged.
  if (earlier.length === 0 || !earlier.every(isFinal)) return after;
  return { ...after, messages: [...earlier, ...after.messages], messages_before: known };
}

/**
 * Prepends a page of earlier messages to the snapshot. Returns `null` if the page does not directly precede
 * it.
 */
export function withEarlier(snapshot: Snapshot, page: Snapshot): Snapshot | null {
  const { messages, messages_before: first = 0 } = page;
  if (first + messages.length !== snapshot.messages_before) return null;
  return { ...snapshot, messages: [...messages, ...snapshot.messages], messages_before: first };
}

function indexOf({ messages }: Snapshot, message: Message | undefined): number {
  return messages.findIndex(({ id }) => id === message?.id);
}

function isFinal({ status }: Message): boolean {
  return status !== "queued" && status !== "streaming";
}
