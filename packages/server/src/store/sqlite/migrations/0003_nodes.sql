-- What nodes on one database share. Counts for rate limits and streams are PostgreSQL's alone: a server on SQLite is the only one, and
-- keeps them in memory.

-- Work that one of the nodes does every so often. Few rows: one a duty.
CREATE TABLE duties (
  name TEXT PRIMARY KEY,
  -- Nobody takes it before.
  due_at INTEGER NOT NULL
) STRICT;
