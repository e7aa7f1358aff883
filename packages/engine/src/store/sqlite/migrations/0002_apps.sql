-- For Apps: their keys, the secrets of their users, and actions that wait for a person.

CREATE TABLE app_keys (
  id TEXT PRIMARY KEY,
  name TEXT,
  -- JSON array of names.
  apps TEXT NOT NULL,
  -- SHA-256 of the secret part, hexadecimal.
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  app TEXT NOT NULL,
  client_id TEXT NOT NULL,
  name TEXT NOT NULL,
  key_id TEXT NOT NULL,
  -- Nonce, ciphertext and tag, base64.
  sealed TEXT NOT NULL,
  PRIMARY KEY (app, client_id, name)
) STRICT, WITHOUT ROWID;

-- Finds the secrets that a removed or lost master key has sealed.
CREATE INDEX secrets_by_key ON secrets (key_id);

-- The master key that seals new secrets. One row, or none before the first secret.
CREATE TABLE secret_key_in_force (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  key_id TEXT NOT NULL
) STRICT;

CREATE TABLE actions (
  session_key INTEGER NOT NULL,
  -- Number of the event that announced the action.
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  -- JSON: kind and request.
  asked TEXT NOT NULL,
  status TEXT NOT NULL,
  -- JSON.
  result TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  resolved_at INTEGER,
  PRIMARY KEY (session_key, number),
  UNIQUE (session_key, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX actions_pending ON actions (session_key, number) WHERE status = 'pending';
CREATE INDEX actions_due ON actions (expires_at, session_key) WHERE status = 'pending';

-- Sessions of each App by use. Those of `default`, the most frequent, stay in their own index.
DROP INDEX sessions_by_use;
CREATE INDEX sessions_by_use ON sessions (retention, used_at) WHERE retention < 2 AND coalesce(app, 'default') = 'default';
CREATE INDEX sessions_by_app_and_use ON sessions (app, retention, used_at) WHERE retention < 2 AND app <> 'default';
