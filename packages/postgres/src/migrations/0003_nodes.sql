-- State that nodes on one database share, and the run time of turns.

-- Periodic work that one node at a time does. One row per duty.
CREATE TABLE duties (
  name text COLLATE "C" PRIMARY KEY,
  -- No node takes the duty before this time.
  due_at bigint NOT NULL
);

-- Counts for rate limits and streams. UNLOGGED: no request waits for the disk to be counted. A crash of the database empties the
-- counts, which allows more requests for a minute.

CREATE UNLOGGED TABLE rate_windows (
  key text COLLATE "C" PRIMARY KEY,
  taken integer NOT NULL,
  ends_at bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);

-- Nodes that hold stream slots. Too few for an index to pay off.
CREATE UNLOGGED TABLE place_holders (
  node text COLLATE "C" PRIMARY KEY,
  seen_at bigint NOT NULL
);

CREATE UNLOGGED TABLE held_places (
  key text COLLATE "C" NOT NULL,
  node text COLLATE "C" NOT NULL,
  held integer NOT NULL,
  PRIMARY KEY (key, node)
);

CREATE INDEX held_places_by_node ON held_places (node);

-- Turns queued behind one that waits for a person do not count towards the limit of waiting turns. Nodes of the previous version leave
-- `behind_waiting` unchanged, so the two versions may count such a turn differently until it reaches the head of its queue.
ALTER TABLE turns
  ADD COLUMN behind_waiting smallint NOT NULL DEFAULT 0,
  -- Milliseconds of ended attempts, on this server's clock. Nodes of the previous version do not count theirs.
  ADD COLUMN ran_ms bigint NOT NULL DEFAULT 0;
UPDATE turns SET behind_waiting = 1
  WHERE ended_at IS NULL AND state = 'queued' AND session_key IN
    (SELECT session_key FROM turns WHERE ended_at IS NULL AND state = 'waiting');

-- Start of the running attempt; NULL if a node of the previous version started it.
ALTER TABLE leases ADD COLUMN taken_at bigint;

-- Contains only the turns that count, so that turns waiting for people do not slow down the count.
CREATE INDEX CONCURRENTLY turns_waiting ON turns (session_key)
  WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0));
