-- The proved wallet behind `public_key`, to which the session is fixed: the address of an account, or `eip155:<chain>:<address>` of a contract.
-- NULL until a user of the session has proved one, and where a node of the previous version has bound the session; such a node leaves the
-- column unchanged and does not check it.
ALTER TABLE sessions ADD COLUMN wallet_id TEXT;
-- The key of the handles that stand for session ids in logs and for operators who may only read. One row, or none before the first start.
CREATE TABLE handle_key (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  -- 32 bytes, base64url.
  key TEXT NOT NULL
) STRICT;

-- Ids of deleted sessions, in lower case, until the time from which requests that only read create a session again. A
-- node of the previous version writes none and ignores them: its polls may create a deleted session again.
CREATE TABLE deleted_sessions (
  id TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_sessions_by_time ON deleted_sessions (until);

-- JSON object that clients attach to a session. NULL for none. A node of the previous version leaves the column unchanged, copies it into no
-- fork, and ignores it in lists. The indexes are for lists that ask for metadata, in the order of lists.
ALTER TABLE sessions ADD COLUMN metadata TEXT;
CREATE INDEX sessions_with_metadata_by_wallet ON sessions (public_key, pinned, updated_at DESC, key DESC) WHERE metadata IS NOT NULL;
CREATE INDEX sessions_with_metadata_by_owner ON sessions (owned_by, pinned, updated_at DESC, key DESC) WHERE metadata IS NOT NULL;

-- Feedback on an answer, as JSON that begins with its score, and the time of its last change. NULL for none. A node of the
-- previous version leaves the columns unchanged and does not show them.
ALTER TABLE messages ADD COLUMN feedback TEXT;
ALTER TABLE messages ADD COLUMN feedback_at INTEGER;
CREATE INDEX messages_with_feedback ON messages (feedback_at DESC, session_key DESC, position DESC) WHERE feedback_at IS NOT NULL;

-- Search. The job of the index adds ended messages within a second (`search.index`). These triggers note what it has to add, and remove what is
-- gone, because nodes of the previous version, imports and `colloquy migrate` know nothing of the index.

-- Messages from `first` to `last` of a session that may not be in the index. `backlog`: 1 for those from before the index.
CREATE TABLE search_jobs (
  id INTEGER PRIMARY KEY,
  session_key INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  backlog INTEGER NOT NULL
) STRICT;
CREATE INDEX search_jobs_by_session ON search_jobs (session_key);
CREATE INDEX search_jobs_new ON search_jobs (id) WHERE backlog = 0;
INSERT INTO search_jobs (session_key, first, last, backlog)
  SELECT key, 1, 9007199254740991, 1 FROM sessions WHERE message_count > 0 ORDER BY key;

-- Parts of messages. `doc` increases with the time of the message, so that the newest are found first; `message_doc` is the lowest of the message.
-- `start` and `length` are characters of its content. `scope` stands for whoever may search the session (store/search.ts).
CREATE TABLE search_documents (
  doc INTEGER PRIMARY KEY,
  message_doc INTEGER NOT NULL,
  session_key INTEGER NOT NULL,
  position INTEGER NOT NULL,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  scope TEXT NOT NULL,
  -- The different words of the part, in lower case and with a space between two.
  words TEXT NOT NULL,
  -- 1: its message is gone. The job of the index deletes the row, because deleting its words takes two milliseconds.
  removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX search_documents_by_message ON search_documents (session_key, position, start) WHERE removed = 0;
CREATE INDEX search_documents_by_scope ON search_documents (scope, doc) WHERE removed = 0;
CREATE INDEX search_documents_removed ON search_documents (doc) WHERE removed = 1;
CREATE VIEW search_texts AS
  SELECT doc, scope || '_' || replace(words, ' ', ' ' || scope || '_') || ' s' || session_key AS words FROM search_documents;
-- The content is external, because a table without content keeps deleted words in the file. The tokenizer splits at spaces.
CREATE VIRTUAL TABLE search_index USING fts5 (
  words, content = 'search_texts', content_rowid = 'doc', tokenize = "ascii tokenchars '_+#'", detail = none, columnsize = 0
);
INSERT INTO search_index (search_index, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER search_message_added AFTER INSERT ON messages WHEN new.status <> 'streaming' AND new.content <> '' BEGIN
  INSERT INTO search_jobs (session_key, first, last, backlog) VALUES (new.session_key, new.position, new.position, 0);
END;
CREATE TRIGGER search_message_ended AFTER UPDATE OF status, content ON messages
  WHEN new.status <> 'streaming' AND (old.status = 'streaming' OR old.content <> new.content) BEGIN
  UPDATE search_documents SET removed = 1 WHERE session_key = new.session_key AND position = new.position AND removed = 0;
  INSERT INTO search_jobs (session_key, first, last, backlog) VALUES (new.session_key, new.position, new.position, 0);
END;
CREATE TRIGGER search_message_removed AFTER DELETE ON messages BEGIN
  UPDATE search_documents SET removed = 1 WHERE session_key = old.session_key AND position = old.position AND removed = 0;
END;
CREATE TRIGGER search_session_moved AFTER UPDATE OF owned_by, public_key ON sessions
  WHEN old.owned_by IS NOT new.owned_by OR old.public_key IS NOT new.public_key BEGIN
  UPDATE search_documents SET removed = 1 WHERE session_key = new.key AND removed = 0;
  INSERT INTO search_jobs (session_key, first, last, backlog) VALUES (new.key, 1, 9007199254740991, 0);
END;
CREATE TRIGGER search_session_removed AFTER DELETE ON sessions BEGIN
  DELETE FROM search_jobs WHERE session_key = old.key;
END;

-- Files of sessions. `blob` names the bytes in the file store; rows of several sessions may share them. `position` is that of
-- the first message that uses the file, and `due_at` when the file expires, NULL while a message uses it. A node of the
-- previous version adds none.
CREATE TABLE files (
  session_key INTEGER NOT NULL,
  id TEXT NOT NULL,
  app TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  media_type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  name TEXT NOT NULL,
  blob TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  position INTEGER,
  due_at INTEGER,
  PRIMARY KEY (session_key, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_content ON files (app, sha256, blob, bytes);
CREATE INDEX files_by_blob ON files (blob);
CREATE INDEX files_due ON files (due_at) WHERE due_at IS NOT NULL;

-- Bytes that the cleanup removes from the file store when they are due, unless a row of `files` has them. While they
-- are stored, `bytes` is their size, which counts towards the quotas of `app` and of `holder`: an owner, or the id of a
-- session without one. 0 once a file has them. `number` orders these rows of an App.
CREATE TABLE unused_blobs (
  id TEXT NOT NULL PRIMARY KEY,
  blob TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  app TEXT,
  holder TEXT,
  bytes INTEGER NOT NULL DEFAULT 0,
  number INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX unused_blobs_due ON unused_blobs (due_at);
CREATE INDEX unused_blobs_reserved ON unused_blobs (app, number) WHERE bytes > 0;

-- Triggers, so that no removal of a session or a file can leave bytes behind, on a node of the previous version either.
CREATE TRIGGER files_of_removed_session AFTER DELETE ON sessions BEGIN
  DELETE FROM files WHERE session_key = old.key;
END;
CREATE TRIGGER blob_of_removed_file AFTER DELETE ON files BEGIN
  INSERT INTO unused_blobs (id, blob, due_at) VALUES (lower(hex(randomblob(16))), old.blob, 0);
END;

-- A summary of the conversation up to and including the turn of an agent message, as JSON. NULL for none. A node of the
-- previous version leaves the column unchanged and ignores it.
ALTER TABLE messages ADD COLUMN summary TEXT;
CREATE INDEX messages_with_summary ON messages (session_key, position DESC) WHERE summary IS NOT NULL;

-- Sessions whose history is to be summarized, when that is due, and how often it was tried. `budget`: bytes
-- for the history in prompts of the turn that stored the job.
CREATE TABLE summary_jobs (
  session_key INTEGER PRIMARY KEY,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  budget INTEGER NOT NULL
) STRICT;
-- A trigger, because a node of the previous version knows nothing of the table.
CREATE TRIGGER summary_job_of_removed_session AFTER DELETE ON sessions BEGIN
  DELETE FROM summary_jobs WHERE session_key = old.key;
END;

-- Approvers of an action: `also` or `only`, and the rule that says who they are. NULL if the user of the session decides.
-- `remind_at`: time of the reminder, NULL after it. A node of the previous version leaves the columns unchanged, sends no
-- reminders, and lets the user decide.
ALTER TABLE actions ADD COLUMN approvers TEXT;
ALTER TABLE actions ADD COLUMN approver_rule TEXT;
ALTER TABLE actions ADD COLUMN remind_at INTEGER;
CREATE INDEX actions_of_approvers ON actions (approver_rule, created_at, id) WHERE status = 'pending' AND approver_rule IS NOT NULL;
CREATE INDEX actions_with_approvers ON actions (id) WHERE approver_rule IS NOT NULL;
CREATE INDEX actions_to_remind ON actions (remind_at, session_key) WHERE status = 'pending' AND remind_at IS NOT NULL;

-- 1 for an archived session. A node of the previous version leaves the column unchanged and ignores it.
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
