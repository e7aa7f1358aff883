-- Times are milliseconds since the Unix epoch, on this server's clock. JSON is stored as text, unchanged. `session_key` is a session's
-- `key`: it names one incarnation of a session and is never used again. There are no foreign keys: every change of
-- a session first locks its row. Text is compared by bytes (COLLATE "C"), independently of the database's locale.

-- No CACHE: numbers must increase in the order in which they are taken.
CREATE SEQUENCE session_keys AS bigint;
CREATE SEQUENCE epochs AS bigint;

CREATE TABLE sessions (
  key bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL CONSTRAINT sessions_id UNIQUE,
  life text NOT NULL,
  app text COLLATE "C",
  title text NOT NULL,
  title_source text NOT NULL,
  status text NOT NULL,
  model text NOT NULL,
  model_chosen smallint NOT NULL,
  utility_model text,
  public_key text COLLATE "C",
  user_state text,
  head bigint NOT NULL,
  -- Events up to and including this number were trimmed.
  event_floor bigint NOT NULL DEFAULT 0,
  message_count bigint NOT NULL,
  turn_count bigint NOT NULL,
  epoch bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- Last use, by which the cleanup selects sessions.
  used_at bigint NOT NULL,
  -- 0: empty session, 1: without a wallet, 2: bound to a wallet.
  retention smallint NOT NULL
);

CREATE INDEX sessions_by_wallet ON sessions (public_key, updated_at DESC, key DESC) WHERE public_key IS NOT NULL;
CREATE INDEX sessions_by_use ON sessions (retention, used_at) WHERE retention < 2;
CREATE INDEX sessions_with_long_logs ON sessions (key) WHERE head - event_floor > 1000;

CREATE TABLE messages (
  session_key bigint NOT NULL,
  position bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  role text NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL,
  -- JSON arrays; NULL for an empty one.
  tool_calls text,
  tool_results text,
  content text NOT NULL,
  PRIMARY KEY (session_key, position)
);

CREATE TABLE turns (
  session_key bigint NOT NULL,
  number bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  user_position bigint NOT NULL,
  agent_position bigint,
  attempts integer NOT NULL,
  steps integer NOT NULL,
  epoch bigint NOT NULL,
  runnable smallint NOT NULL,
  client_id text,
  -- JSON object of token counts.
  usage text NOT NULL,
  failure text,
  enqueued_at bigint NOT NULL,
  ended_at bigint,
  PRIMARY KEY (session_key, number)
);

CREATE INDEX turns_open ON turns (session_key, number) INCLUDE (state, runnable) WHERE ended_at IS NULL;
CREATE INDEX turns_runnable ON turns (enqueued_at, session_key, number) WHERE runnable = 1;

CREATE TABLE steps (
  session_key bigint NOT NULL,
  turn bigint NOT NULL,
  number integer NOT NULL,
  finish_reason text NOT NULL,
  usage text NOT NULL,
  text text NOT NULL,
  -- JSON: the assistant's content parts as the model returned them.
  parts text NOT NULL,
  PRIMARY KEY (session_key, turn, number)
);

-- Streamed text of a step that has not finished: `text` follows the first `offset` characters of the step.
CREATE TABLE checkpoints (
  session_key bigint NOT NULL,
  turn bigint NOT NULL,
  "offset" bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session_key, turn, "offset")
);

CREATE TABLE events (
  session_key bigint NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  payload text NOT NULL,
  PRIMARY KEY (session_key, number)
);

-- The last 100 system events of each session, for its snapshot.
CREATE TABLE system_events (
  session_key bigint NOT NULL,
  number bigint NOT NULL,
  item text NOT NULL,
  PRIMARY KEY (session_key, number)
);

-- One row per running turn: too few, and renewed too often, for an index to pay off.
CREATE TABLE leases (
  session_key bigint PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  expires_at bigint NOT NULL
);

CREATE TABLE idempotency_keys (
  session_key bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  digest text NOT NULL,
  turn bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (session_key, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

-- Sessions with a pending title job: too few for an index to pay off.
CREATE TABLE title_jobs (
  session_key bigint PRIMARY KEY,
  due_at bigint NOT NULL
);

-- The readiness check increments this number to prove that the database accepts writes.
CREATE TABLE probes (
  one smallint PRIMARY KEY CHECK (one = 1),
  value bigint NOT NULL
);

INSERT INTO probes (one, value) VALUES (1, 0);
