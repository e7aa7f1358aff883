// Whose session is whose: one table of your database.

import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

const database = new DatabaseSync(process.env["CONVERSATIONS_FILE"] ?? "conversations.db");
database.exec("CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, user TEXT NOT NULL)");
const insert = database.prepare("INSERT INTO conversations (id, user) VALUES (?, ?)");
const select = database.prepare("SELECT 1 FROM conversations WHERE id = ? AND user = ?");
const list = database.prepare("SELECT id FROM conversations WHERE user = ? ORDER BY rowid DESC");

export function createConversation(user: string): string {
  const id = randomUUID();
  insert.run(id, user);
  return id;
}

export function isOwn(user: string, id: string): boolean {
  return select.get(id, user) !== undefined;
}

/** Returns the session ids of a user, the newest first. */
export function conversationsOf(user: string): string[] {
  return list.all(user).map(({ id }) => String(id));
}
