-- The key of the handles that stand for session ids in logs and for operators who may only read. One row, or none before the first start.
CREATE TABLE handle_key (
  one smallint PRIMARY KEY CHECK (one = 1),
  -- 32 bytes, base64url.
  key text NOT NULL
);
