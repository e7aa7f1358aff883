-- What nodes on one database share, and how long turns ran. Counts for rate limits and streams are PostgreSQL's alone: a server on SQLite is
-- the only one, and keeps them in memory.

-- Work that one of the nodes does every so often. Few rows: one a duty.
CREATE TABLE duties (
  name TEXT PRIMARY KEY,
  -- Nobody takes it before.
  due_at INTEGER NOT NULL
) STRICT;

-- Messages behind a turn that waits for a person wait for nobody here, and do not count to what may wait. Nodes of the version before leave
-- `behind_waiting` as it is: until such a turn is at the head of its queue, they may count it where this version does not, or the other way.
ALTER TABLE turns ADD COLUMN behind_waiting INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET behind_waiting = 1
  WHERE ended_at IS NULL AND state = 'queued' AND session_key IN
    (SELECT session_key FROM turns WHERE ended_at IS NULL AND state = 'waiting');
-- In attempts that are over, on this server's clock. Nodes of the version before do not count theirs.
ALTER TABLE turns ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;

-- When the attempt under way began; NULL where a node of the version before has begun it.
ALTER TABLE leases ADD COLUMN taken_at INTEGER;

-- What counts, and nothing else: counting must not cost more because many people are asked something.
CREATE INDEX turns_waiting ON turns (session_key)
  WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0));
