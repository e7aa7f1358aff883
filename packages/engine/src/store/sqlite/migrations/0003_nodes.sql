-- State that nodes on one database share, and the run time of turns. Counts for rate limits and streams exist only in
-- PostgreSQL: a server on SQLite is alone and counts in memory.

-- Periodic work that one node at a time does. One row per duty.
CREATE TABLE duties (
  name TEXT PRIMARY KEY,
  -- No node takes the duty before this time.
  due_at INTEGER NOT NULL
) STRICT;

-- Turns queued behind one that waits for a person do not count towards the limit of waiting turns. Nodes of the previous version leave
-- `behind_waiting` unchanged, so the two versions may count such a turn differently until it reaches the head of its queue.
ALTER TABLE turns ADD COLUMN behind_waiting INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET behind_waiting = 1
  WHERE ended_at IS NULL AND state = 'queued' AND session_key IN
    (SELECT session_key FROM turns WHERE ended_at IS NULL AND state = 'waiting');
-- Milliseconds of ended attempts, on this server's clock. Nodes of the previous version do not count theirs.
ALTER TABLE turns ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;

-- Start of the running attempt; NULL if a node of the previous version started it.
ALTER TABLE leases ADD COLUMN taken_at INTEGER;

-- Contains only the turns that count, so that turns waiting for people do not slow down the count.
CREATE INDEX turns_waiting ON turns (session_key)
  WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0));
