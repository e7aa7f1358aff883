// Pages of messages and of threads, and sizes of sessions, as far as they are the same on every adapter.

import type { MessagePageEnd, ThreadQuery } from "../core/ports/driven/session-store.ts";
import type { SessionRecord } from "../core/session.ts";

/** Bytes that a message takes in the store. Measured without reading it where the database can. */
export const MESSAGE_BYTES =
  "(octet_length(content) + coalesce(octet_length(tool_calls), 0) + coalesce(octet_length(tool_results), 0))";

/**
 * Counts the sizes of the sessions whose keys follow, and corrects the `retention` that older versions gave to empty ones with a wallet. The
 * size of messages is an estimate, for which no text is read: 160 bytes stand for the other fields of a message, escapes are not counted.
 */
export const COUNT_SIZES = `UPDATE sessions SET
  message_bytes = (SELECT coalesce(sum(160 + ${MESSAGE_BYTES}), 0) FROM messages WHERE session_key = sessions.key),
  event_bytes = (SELECT coalesce(sum(octet_length(payload)), 0) FROM events WHERE session_key = sessions.key),
  retention = CASE
    WHEN message_count = 0 AND model_chosen = 0 AND utility_model IS NULL AND title_source = 'placeholder' THEN 0
    ELSE retention END
  WHERE key`;

type ThreadPlace = Pick<SessionRecord, "updatedAt" | "key">;

/** Places before and behind every session, newest activity first. */
const BEFORE_ALL = { updatedAt: Number.MAX_SAFE_INTEGER, key: 0 };
const BEHIND_ALL = { updatedAt: -1, key: 0 };

/** Where a list of threads begins in each of its two parts, the pinned sessions and the others. */
export function partsAfter(after: ThreadQuery["after"]): {
  readonly pinned: ThreadPlace;
  readonly others: ThreadPlace;
} {
  if (after === null) return { pinned: BEFORE_ALL, others: BEFORE_ALL };
  return after.pinned ? { pinned: after, others: BEFORE_ALL } : { pinned: BEHIND_ALL, others: after };
}

/** Where a page of messages ends; `sizes` are of those that follow, in order, one more than `limit` where there is one. */
export function pageEnd(
  sizes: Iterable<{ readonly id: string; readonly bytes: number }>,
  limit: number,
  maxBytes: number,
): MessagePageEnd {
  let [last, count, total]: [string | null, number, number] = [null, 0, 0];
  for (const { id, bytes } of sizes) {
    if (count === limit || total >= maxBytes) return { last, hasMore: true };
    [last, count, total] = [id, count + 1, total + bytes];
  }
  return { last, hasMore: false };
}
