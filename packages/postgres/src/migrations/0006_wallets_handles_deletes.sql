-- The proved wallet behind `public_key`, to which the session is fixed: the address of an account, or `eip155:<chain>:<address>` of a contract.
-- NULL until a user of the session has proved one, and where a node of the previous version has bound the session; such a node leaves the
-- column unchanged and does not check it.
ALTER TABLE sessions ADD COLUMN wallet_id text COLLATE "C";
-- The key of the handles that stand for session ids in logs and for operators who may only read. One row, or none before the first start.
CREATE TABLE handle_key (
  one smallint PRIMARY KEY CHECK (one = 1),
  -- 32 bytes, base64url.
  key text NOT NULL
);

-- Ids of deleted sessions, in lower case, until the time from which requests that only read create a session again. A
-- node of the previous version writes none and ignores them: its polls may create a deleted session again.
CREATE TABLE deleted_sessions (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  until bigint NOT NULL
);
CREATE INDEX deleted_sessions_by_time ON deleted_sessions (until);

-- JSON object that clients attach to a session. NULL for none. A node of the previous version leaves the column unchanged, copies it into no
-- fork, and ignores it in lists. The indexes are for lists that ask for metadata, in the order of lists.
ALTER TABLE sessions ADD COLUMN metadata text;
CREATE INDEX CONCURRENTLY sessions_with_metadata_by_wallet ON sessions (public_key, pinned, updated_at DESC, key DESC) WHERE metadata IS NOT NULL;
CREATE INDEX CONCURRENTLY sessions_with_metadata_by_owner ON sessions (owned_by, pinned, updated_at DESC, key DESC) WHERE metadata IS NOT NULL;

-- Feedback on an answer, as JSON that begins with its score, and the time of its last change. NULL for none. A node of the
-- previous version leaves the columns unchanged and does not show them.
ALTER TABLE messages ADD COLUMN feedback text;
ALTER TABLE messages ADD COLUMN feedback_at bigint;
CREATE INDEX CONCURRENTLY messages_with_feedback ON messages (feedback_at DESC, session_key DESC, position DESC) WHERE feedback_at IS NOT NULL;

-- Search. The job of the index adds ended messages within a second (`search.index`). These triggers note what it has to add, and remove what is
-- gone, because nodes of the previous version, imports and `colloquy migrate` know nothing of the index.

-- Messages from `first` to `last` of a session that may not be in the index. `backlog`: 1 for those from before the index.
CREATE TABLE search_jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_key bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  backlog smallint NOT NULL
);
CREATE INDEX search_jobs_by_session ON search_jobs (session_key);
CREATE INDEX search_jobs_new ON search_jobs (id) WHERE backlog = 0;
INSERT INTO search_jobs (session_key, first, last, backlog)
  SELECT key, 1, 9007199254740991, 1 FROM sessions WHERE message_count > 0 ORDER BY key;

-- Parts of messages. `doc` increases with the time of the message, so that the newest are found first; `message_doc` is the lowest of the message.
-- `start` and `length` are characters of its content. `scope` stands for whoever may search the session (store/search.ts).
CREATE TABLE search_documents (
  doc bigint PRIMARY KEY,
  message_doc bigint NOT NULL,
  session_key bigint NOT NULL,
  position bigint NOT NULL,
  start integer NOT NULL,
  length integer NOT NULL,
  scope text COLLATE "C" NOT NULL,
  -- The different words of the part, each after the scope, and one that all parts of the session have. No places, of which a tsvector has few.
  words tsvector NOT NULL,
  UNIQUE (session_key, position, start)
);
CREATE INDEX search_documents_by_scope ON search_documents (scope, doc);
-- No list of pending entries, which every search would read.
CREATE INDEX search_documents_by_word ON search_documents USING gin (words) WITH (fastupdate = off);

CREATE FUNCTION search_note_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM search_documents WHERE session_key = NEW.session_key AND position = NEW.position;
  END IF;
  INSERT INTO search_jobs (session_key, first, last, backlog) VALUES (NEW.session_key, NEW.position, NEW.position, 0);
  RETURN NULL;
END $$;
CREATE FUNCTION search_remove_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM search_documents WHERE session_key = OLD.session_key AND position = OLD.position;
  RETURN NULL;
END $$;
CREATE FUNCTION search_move_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM search_documents WHERE session_key = NEW.key;
  INSERT INTO search_jobs (session_key, first, last, backlog) VALUES (NEW.key, 1, 9007199254740991, 0);
  RETURN NULL;
END $$;
CREATE FUNCTION search_remove_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM search_jobs WHERE session_key = OLD.key;
  RETURN NULL;
END $$;
CREATE TRIGGER search_message_added AFTER INSERT ON messages FOR EACH ROW
  WHEN (NEW.status <> 'streaming' AND NEW.content <> '') EXECUTE FUNCTION search_note_message();
CREATE TRIGGER search_message_ended AFTER UPDATE OF status, content ON messages FOR EACH ROW
  WHEN (NEW.status <> 'streaming' AND (OLD.status = 'streaming' OR OLD.content <> NEW.content)) EXECUTE FUNCTION search_note_message();
CREATE TRIGGER search_message_removed AFTER DELETE ON messages FOR EACH ROW EXECUTE FUNCTION search_remove_message();
CREATE TRIGGER search_session_moved AFTER UPDATE OF owned_by, public_key ON sessions FOR EACH ROW
  WHEN (OLD.owned_by IS DISTINCT FROM NEW.owned_by OR OLD.public_key IS DISTINCT FROM NEW.public_key) EXECUTE FUNCTION search_move_session();
CREATE TRIGGER search_session_removed AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION search_remove_session();

-- Files of sessions. `blob` names the bytes in the file store; rows of several sessions may share them. `position` is that of
-- the first message that uses the file, and `due_at` when the file expires, NULL while a message uses it. A node of the
-- previous version adds none.
CREATE TABLE files (
  session_key bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  app text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  media_type text NOT NULL,
  bytes bigint NOT NULL,
  name text NOT NULL,
  blob text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  position bigint,
  due_at bigint,
  PRIMARY KEY (session_key, id)
);
CREATE INDEX files_by_content ON files (app, sha256, blob, bytes);
CREATE INDEX files_by_blob ON files (blob);
CREATE INDEX files_due ON files (due_at) WHERE due_at IS NOT NULL;

-- Bytes that the cleanup removes from the file store when they are due, unless a row of `files` has them. While they
-- are stored, `bytes` is their size, which counts towards the quotas of `app` and of `holder`: an owner, or the id of a
-- session without one. 0 once a file has them. `number` orders these rows of an App.
CREATE TABLE unused_blobs (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  blob text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  app text COLLATE "C",
  holder text COLLATE "C",
  bytes bigint NOT NULL DEFAULT 0,
  number bigint NOT NULL DEFAULT 0
);
CREATE INDEX unused_blobs_due ON unused_blobs (due_at);
CREATE INDEX unused_blobs_reserved ON unused_blobs (app, number) WHERE bytes > 0;

-- Triggers, so that no removal of a session or a file can leave bytes behind, on a node of the previous version either.
CREATE FUNCTION remove_files_of_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM files WHERE session_key = old.key;
  RETURN NULL;
END $$;
CREATE TRIGGER files_of_removed_session AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION remove_files_of_session();
CREATE FUNCTION note_unused_blob() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO unused_blobs (id, blob, due_at) VALUES (replace(gen_random_uuid()::text, '-', ''), old.blob, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER blob_of_removed_file AFTER DELETE ON files FOR EACH ROW EXECUTE FUNCTION note_unused_blob();

-- A summary of the conversation up to and including the turn of an agent message, as JSON. NULL for none. A node of the
-- previous version leaves the column unchanged and ignores it.
ALTER TABLE messages ADD COLUMN summary text;
CREATE INDEX CONCURRENTLY messages_with_summary ON messages (session_key, position DESC) WHERE summary IS NOT NULL;

-- Sessions whose history is to be summarized, when that is due, and how often it was tried. `budget`: bytes
-- for the history in prompts of the turn that stored the job.
CREATE TABLE summary_jobs (
  session_key bigint PRIMARY KEY,
  due_at bigint NOT NULL,
  attempts integer NOT NULL,
  budget bigint NOT NULL
);
-- A trigger, because a node of the previous version knows nothing of the table.
CREATE FUNCTION remove_summary_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM summary_jobs WHERE session_key = old.key;
  RETURN NULL;
END $$;
CREATE TRIGGER summary_job_of_removed_session AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION remove_summary_job();

-- Approvers of an action: `also` or `only`, and the rule that says who they are. NULL if the user of the session decides.
-- `remind_at`: time of the reminder, NULL after it. A node of the previous version leaves the columns unchanged, sends no
-- reminders, and lets the user decide.
ALTER TABLE actions ADD COLUMN approvers text;
ALTER TABLE actions ADD COLUMN approver_rule text COLLATE "C";
ALTER TABLE actions ADD COLUMN remind_at bigint;
CREATE INDEX CONCURRENTLY actions_of_approvers ON actions (approver_rule, created_at, id) WHERE status = 'pending' AND approver_rule IS NOT NULL;
CREATE INDEX CONCURRENTLY actions_with_approvers ON actions (id) WHERE approver_rule IS NOT NULL;
CREATE INDEX CONCURRENTLY actions_to_remind ON actions (remind_at, session_key) WHERE status = 'pending' AND remind_at IS NOT NULL;

-- 1 for an archived session. A node of the previous version leaves the column unchanged and ignores it.
ALTER TABLE sessions ADD COLUMN archived smallint NOT NULL DEFAULT 0;
