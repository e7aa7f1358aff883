// Lists feedback on answers, across sessions.

import { feedbackStart, type FeedbackRecord } from "../core/message.ts";
import type { FeedbackEntry, FeedbackStore } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { look, prepare, type SharedPort, type Value } from "./shared.ts";

interface FeedbackRow {
  readonly session_id: string;
  readonly session_key: number;
  readonly app: string;
  readonly message_id: string;
  readonly position: number;
  readonly turn: number;
  readonly feedback: string;
  readonly feedback_at: number;
}

const list = prepare<Value[], FeedbackRow>(
  `SELECT coalesce(s.spelling, s.id) AS session_id, m.session_key, coalesce(s.app, '${DEFAULT_APP}') AS app,
     m.id AS message_id, m.position, m.turn, m.feedback, m.feedback_at
   FROM messages m JOIN sessions s ON s.key = m.session_key
   WHERE m.feedback_at IS NOT NULL AND ($1::text IS NULL OR coalesce(s.app, '${DEFAULT_APP}') = $1)
     AND ($2::text IS NULL OR substr(m.feedback, 1, length($2::text)) = $2)
     AND ($3::bigint IS NULL OR m.feedback_at >= $3) AND ($4::bigint IS NULL OR m.feedback_at < $4)
     AND ($5::bigint IS NULL OR m.feedback_at < $5 OR (m.feedback_at = $5
       AND (m.session_key < $6::bigint OR (m.session_key = $6 AND m.position < $7::bigint))))
   ORDER BY m.feedback_at DESC, m.session_key DESC, m.position DESC LIMIT $8`,
);

function toEntry(row: FeedbackRow): FeedbackEntry {
  return {
    ...(JSON.parse(row.feedback) as Omit<FeedbackRecord, "at">),
    at: row.feedback_at,
    sessionId: row.session_id,
    sessionKey: row.session_key,
    app: row.app,
    messageId: row.message_id,
    position: row.position,
    turn: row.turn,
  };
}

export const feedback: SharedPort<FeedbackStore> = {
  list: look("feedback", function* (_at, { app, score, from, to, after, limit }) {
    const { at = null, sessionKey = null, position = null } = after ?? {};
    const start = score === null ? null : feedbackStart(score);
    return (yield* list.all(app, start, from, to, at, sessionKey, position, limit)).map(toEntry);
  }),
};
