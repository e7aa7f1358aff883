-- For Apps: their keys, the secrets of their users, and actions that wait for a person.

CREATE TABLE app_keys (
  id text COLLATE "C" PRIMARY KEY,
  name text,
  -- JSON array of names.
  apps text NOT NULL,
  -- SHA-256 of the secret part, hexadecimal.
  digest text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);

CREATE TABLE secrets (
  app text COLLATE "C" NOT NULL,
  client_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  -- Nonce, ciphertext and tag, base64.
  sealed text NOT NULL,
  PRIMARY KEY (app, client_id, name)
);

-- Finds the secrets that a removed or lost master key has sealed.
CREATE INDEX secrets_by_key ON secrets (key_id);

-- The master key that seals new secrets. One row, or none before the first secret.
CREATE TABLE secret_key_in_force (
  one smallint PRIMARY KEY CHECK (one = 1),
  key_id text COLLATE "C" NOT NULL
);

CREATE TABLE actions (
  session_key bigint NOT NULL,
  -- Number of the event that announced the action.
  number bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  call_id text NOT NULL,
  tool text NOT NULL,
  -- JSON: kind and request.
  asked text NOT NULL,
  status text NOT NULL,
  -- JSON.
  result text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  resolved_at bigint,
  PRIMARY KEY (session_key, number),
  UNIQUE (session_key, id)
);

CREATE INDEX actions_pending ON actions (session_key, number) WHERE status = 'pending';
CREATE INDEX actions_due ON actions (expires_at, session_key) WHERE status = 'pending';

-- Sessions of each App by use. Those of `default`, the most frequent, stay in their own index.
DROP INDEX sessions_by_use;
CREATE INDEX sessions_by_use ON sessions (retention, used_at) WHERE retention < 2 AND coalesce(app, 'default') = 'default';
CREATE INDEX sessions_by_app_and_use ON sessions (app, retention, used_at) WHERE retention < 2 AND app <> 'default';
