// Feedback on answers, for operators.

import type { AdminFeedbackPage } from "@colloquy/protocol";
import { InvalidRequest } from "@colloquy/engine/internal/core/errors";
import { toWireFeedback } from "@colloquy/engine/internal/core/message";
import type {
  FeedbackCursor,
  FeedbackQuery,
  FeedbackStore,
} from "@colloquy/engine/internal/core/ports/driven/store";

export interface FeedbackListQuery extends Omit<FeedbackQuery, "after"> {
  /** Cursor of an earlier page; any other is an InvalidRequest. */
  readonly cursor: string | null;
}

export async function listFeedback(
  store: FeedbackStore,
  { cursor, ...query }: FeedbackListQuery,
): Promise<AdminFeedbackPage> {
  const after = cursor === null ? null : parseCursor(cursor);
  const found = await store.list({ ...query, after, limit: query.limit + 1 });
  const entries = found.slice(0, query.limit);
  const last = found.length > query.limit ? entries.at(-1) : undefined;
  return {
    feedback: entries.map(({ sessionId, app, messageId, turn, ...entry }) => ({
      session_id: sessionId,
      app,
      message_id: messageId,
      turn,
      ...toWireFeedback(entry),
    })),
    next_cursor: last === undefined ? null : formatCursor(last),
  };
}

function formatCursor({ at, sessionKey, position }: FeedbackCursor): string {
  return [at, sessionKey, position].map((number) => number.toString(36)).join("-");
}

function parseCursor(cursor: string): FeedbackCursor {
  const match = /^([0-9a-z]{1,10})-([0-9a-z]{1,10})-([0-9a-z]{1,10})$/.exec(cursor);
  if (match === null)
    throw new InvalidRequest("invalid_cursor", "`cursor` must be `next_cursor` of an earlier page.");
  const [at = 0, sessionKey = 0, position = 0] = match.slice(1).map((part) => Number.parseInt(part, 36));
  return { at, sessionKey, position };
}
