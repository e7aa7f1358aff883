"""Whose session is whose: one table of your database."""

import os
import sqlite3
from uuid import uuid4

database = sqlite3.connect(
    os.environ.get("CONVERSATIONS_FILE", "conversations.db"), isolation_level=None, check_same_thread=False
)
database.execute("CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, user TEXT NOT NULL)")


def create_conversation(user: str) -> str:
    session = str(uuid4())
    database.execute("INSERT INTO conversations (id, user) VALUES (?, ?)", (session, user))
    return session


def is_own(user: str, session: str) -> bool:
    found = database.execute("SELECT 1 FROM conversations WHERE id = ? AND user = ?", (session, user))
    return found.fetchone() is not None


def conversations_of(user: str) -> list[str]:
    """Returns the session ids of a user, the newest first."""
    rows = database.execute("SELECT id FROM conversations WHERE user = ? ORDER BY rowid DESC", (user,))
    return [session for (session,) in rows]
