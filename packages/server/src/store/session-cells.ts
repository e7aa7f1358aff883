// What is written into the row of a session whenever it has changed.

import type { SessionRecord } from "../core/session.ts";
import { retentionOf } from "./rows.ts";

export const CHANGING_COLUMNS = [
  "app",
  "title",
  "title_source",
  "status",
  "model",
  "model_chosen",
  "model_app",
  "utility_model",
  "public_key",
  "user_state",
  "pinned",
  "head",
  "message_count",
  "turn_count",
  "message_bytes",
  "event_bytes",
  "epoch",
  "updated_at",
  "used_at",
  "retention",
] as const;

export type ChangingColumn = (typeof CHANGING_COLUMNS)[number];

/** The values of `CHANGING_COLUMNS`, in their order. `at`: when it was used, in milliseconds since the Unix epoch. */
export function changingCells(session: SessionRecord, at: number) {
  return [
    session.app,
    session.title,
    session.titleSource,
    session.status,
    session.model,
    session.modelChosen ? 1 : 0,
    session.modelApp,
    session.utilityModel,
    session.publicKey,
    session.userState === null ? null : JSON.stringify(session.userState),
    session.pinned ? 1 : 0,
    session.head,
    session.messageCount,
    session.turnCount,
    session.messageBytes,
    session.eventBytes,
    session.epoch,
    session.updatedAt,
    at,
    retentionOf(session),
  ] as const;
}

/** The columns that a session keeps from its beginning. */
export const LASTING_COLUMNS = ["key", "id", "spelling", "life", "created_at"] as const;

/** The values of `LASTING_COLUMNS`, in their order. */
export function lastingCells({ key, id, spelling, life, createdAt }: SessionRecord) {
  return [key, id, spelling === id ? null : spelling, life, createdAt] as const;
}
