-- UTF-8 bytes of the messages as JSON, and of the event log that is kept, so that caps on them need no scan. NULL: not counted yet; no cap
-- applies. The cleanup counts such sessions (`sessions.countSizes`), because doing so here would lock the table for as long as it takes.
-- A node of the previous version leaves both unchanged: the cleanup counts sessions that it creates, but what it adds to a counted session
-- stays uncounted, and `retention` of an empty session with a wallet stays at 2 where it writes it.
ALTER TABLE sessions ADD COLUMN message_bytes INTEGER;
ALTER TABLE sessions ADD COLUMN event_bytes INTEGER;
-- The App that a session's chosen models were validated against while it belonged to none. NULL where nothing was chosen, and where a node of
-- the previous version has stored the choice: such a node has bound the session to the App.
ALTER TABLE sessions ADD COLUMN model_app TEXT;
-- A session's id as the client who created the session spelled it: answers and events carry this spelling. NULL for lower case, and where a
-- node of the previous version created the session; ids are compared and looked up in lower case.
ALTER TABLE sessions ADD COLUMN spelling TEXT;
-- Pinned sessions come first in lists. A node of the previous version leaves the column unchanged, and lists all sessions by their activity.
ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
-- JSON array of what a key may be used for. NULL for keys of the previous version: everything that it knew.
ALTER TABLE app_keys ADD COLUMN scopes TEXT;
-- The user whom a session belongs to: a hash of the issuer and subject of their sign-in token. NULL where anyone who knows the id may use the
-- session. A node of the previous version leaves the column unchanged and does not check it: replace all nodes before an App gets `users`.
ALTER TABLE sessions ADD COLUMN owned_by TEXT;
-- 1 if the user has proved to hold the session's wallet. A node of the previous version leaves the column unchanged.
ALTER TABLE sessions ADD COLUMN wallet_proved INTEGER NOT NULL DEFAULT 0;
-- JSON object of a chat's options: tools that the client runs, the schema of the answer. NULL for neither, and where a
-- node of the previous version stored the turn.
ALTER TABLE turns ADD COLUMN options TEXT;
-- JSON object of an answer's data and sources. NULL for none. A node of the previous version leaves the
-- column unchanged.
ALTER TABLE messages ADD COLUMN extras TEXT;
-- The claim of the client that runs a call, and its end in milliseconds since the Unix epoch. NULL for none.
ALTER TABLE actions ADD COLUMN claim TEXT;
ALTER TABLE actions ADD COLUMN claim_expires_at INTEGER;

-- Sign-in tokens that were revoked, until they expire: by a hash of the issuer and `jti`, or of the token.
CREATE TABLE revoked_tokens (
  id TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX revoked_tokens_by_expiry ON revoked_tokens (expires_at);

-- The audit trail. `once`: deduplication key, of which one entry is stored; NULL for entries that are always stored.
CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id TEXT,
  actor_name TEXT,
  address TEXT,
  request_id TEXT,
  app TEXT,
  target TEXT,
  details TEXT NOT NULL,
  once TEXT UNIQUE
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_time ON audit (at DESC, id DESC);
-- A user's pseudonym in the trail is a hash with this salt: without the salt, entries cannot be attributed to the user.
CREATE TABLE audit_salts (
  owned_by TEXT NOT NULL PRIMARY KEY,
  salt TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions that the cleanup still has to count.
CREATE INDEX sessions_without_sizes ON sessions (key) WHERE message_bytes IS NULL;
CREATE INDEX sessions_pinned ON sessions (public_key, updated_at DESC, key DESC) WHERE pinned = 1;
CREATE INDEX sessions_by_owner ON sessions (owned_by, pinned, updated_at DESC, key DESC) WHERE owned_by IS NOT NULL;
CREATE INDEX actions_claimed ON actions (claim_expires_at, session_key) WHERE claim_expires_at IS NOT NULL;
