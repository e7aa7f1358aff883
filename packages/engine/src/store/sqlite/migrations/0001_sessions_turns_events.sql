-- Times are milliseconds since the Unix epoch. JSON is stored as text, unchanged. `session_key` is a session's `key`:
-- it names one incarnation of a session and is never used again. There are no foreign keys: a session is deleted by one
-- indexed delete per table, and checking a parent for every row would slow down the hot path.

CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  life TEXT NOT NULL,
  app TEXT,
  title TEXT NOT NULL,
  title_source TEXT NOT NULL,
  status TEXT NOT NULL,
  model TEXT NOT NULL,
  model_chosen INTEGER NOT NULL,
  utility_model TEXT,
  public_key TEXT,
  user_state TEXT,
  head INTEGER NOT NULL,
  -- Events up to and including this number were trimmed.
  event_floor INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL,
  turn_count INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- Last use, by which the cleanup selects sessions.
  used_at INTEGER NOT NULL,
  -- 0: empty session, 1: without a wallet, 2: bound to a wallet.
  retention INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_wallet ON sessions (public_key, updated_at DESC, key DESC) WHERE public_key IS NOT NULL;
CREATE INDEX sessions_by_use ON sessions (retention, used_at) WHERE retention < 2;
CREATE INDEX sessions_with_long_logs ON sessions (key) WHERE head - event_floor > 1000;

CREATE TABLE messages (
  session_key INTEGER NOT NULL,
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  role TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- JSON arrays; NULL for an empty one.
  tool_calls TEXT,
  tool_results TEXT,
  content TEXT NOT NULL,
  PRIMARY KEY (session_key, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  session_key INTEGER NOT NULL,
  number INTEGER NOT NULL,
  state TEXT NOT NULL,
  user_position INTEGER NOT NULL,
  agent_position INTEGER,
  attempts INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  runnable INTEGER NOT NULL,
  client_id TEXT,
  -- JSON object of token counts.
  usage TEXT NOT NULL,
  failure TEXT,
  enqueued_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (session_key, number)
) STRICT, WITHOUT ROWID;

-- Covers the columns that counting waiting turns reads.
CREATE INDEX turns_open ON turns (session_key, number, state, runnable) WHERE ended_at IS NULL;
CREATE INDEX turns_runnable ON turns (enqueued_at, session_key, number) WHERE runnable = 1;

CREATE TABLE steps (
  session_key INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  number INTEGER NOT NULL,
  finish_reason TEXT NOT NULL,
  usage TEXT NOT NULL,
  text TEXT NOT NULL,
  -- JSON: the assistant's content parts as the model returned them.
  parts TEXT NOT NULL,
  PRIMARY KEY (session_key, turn, number)
) STRICT, WITHOUT ROWID;

-- Streamed text of a step that has not finished: `text` follows the first `offset` characters of the step.
CREATE TABLE checkpoints (
  session_key INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  "offset" INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (session_key, turn, "offset")
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  session_key INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  payload TEXT NOT NULL,
  PRIMARY KEY (session_key, number)
) STRICT, WITHOUT ROWID;

-- The last 100 system events of each session, for its snapshot.
CREATE TABLE system_events (
  session_key INTEGER NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  PRIMARY KEY (session_key, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
  session_key INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
  session_key INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (session_key, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

-- Sessions with a pending title job: too few for an index to pay off.
CREATE TABLE title_jobs (
  session_key INTEGER PRIMARY KEY,
  due_at INTEGER NOT NULL
) STRICT;

-- Store-wide numbers: `session_key`, `epoch`, and `probe`, which the readiness check increments to prove that the database accepts writes.
CREATE TABLE sequences (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO sequences (name, value) VALUES ('session_key', 0), ('epoch', 0), ('probe', 0);
