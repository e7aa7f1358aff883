// The row of a session: its columns, in one place, and how they are written.

import type { DatabaseSync } from "node:sqlite";
import type { SessionRecord } from "../../core/session.ts";
import { retentionOf } from "../rows.ts";
import { prepare } from "./statement.ts";

/** Writes a session as it is after a transaction at `at`, which also is its last use. `before` is `null` for a new one. */
export type WriteSession = (before: SessionRecord | null, session: SessionRecord, at: number) => void;

const CHANGING = [
  "app",
  "title",
  "title_source",
  "status",
  "model",
  "model_chosen",
  "utility_model",
  "public_key",
  "user_state",
  "head",
  "message_count",
  "turn_count",
  "epoch",
  "updated_at",
  "used_at",
  "retention",
] as const;

export function prepareSessionWriter(database: DatabaseSync): WriteSession {
  const columns = [...CHANGING, "key", "id", "life", "created_at"];
  const insert = database.prepare(
    `INSERT INTO sessions (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const update = database.prepare(
    `UPDATE sessions SET ${CHANGING.map((column) => `${column} = ?`).join(", ")} WHERE key = ?`,
  );
  const noteUse = prepare<[number, number]>(database, "UPDATE sessions SET used_at = ? WHERE key = ?");
  return (before, session, at) => {
    if (before === null) {
      insert.run(...changing(session, at), session.key, session.id, session.life, session.createdAt);
    } else if (before === session) {
      noteUse.run(at, session.key);
    } else {
      update.run(...changing(session, at), session.key);
    }
  };
}

/** Values of the columns that change, in their order. */
function changing(session: SessionRecord, at: number) {
  return [
    session.app,
    session.title,
    session.titleSource,
    session.status,
    session.model,
    session.modelChosen ? 1 : 0,
    session.utilityModel,
    session.publicKey,
    session.userState === null ? null : JSON.stringify(session.userState),
    session.head,
    session.messageCount,
    session.turnCount,
    session.epoch,
    session.updatedAt,
    at,
    retentionOf(session),
  ] as const;
}
