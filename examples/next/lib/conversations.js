// Whose session is whose: one table of your database.

import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

let opened = null;

/** Opened on first use: `next build` loads this file too. */
function database() {
  if (opened === null) {
    opened = new DatabaseSync(process.env.CONVERSATIONS_FILE ?? "conversations.db");
    opened.exec("CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, user TEXT NOT NULL)");
  }
  return opened;
}

export function createConversation(user) {
  const id = randomUUID();
  database().prepare("INSERT INTO conversations (id, user) VALUES (?, ?)").run(id, user);
  return id;
}

export function isOwn(user, id) {
  return (
    database().prepare("SELECT 1 FROM conversations WHERE id = ? AND user = ?").get(id, user) !== undefined
  );
}

/** Returns the session ids of a user, the newest first. */
export function conversationsOf(user) {
  const rows = database()
    .prepare("SELECT id FROM conversations WHERE user = ? ORDER BY rowid DESC")
    .all(user);
  return rows.map(({ id }) => id);
}
