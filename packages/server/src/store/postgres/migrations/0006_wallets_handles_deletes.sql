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
