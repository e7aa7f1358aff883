-- What nodes on one database share, and how long turns ran.

-- Work that one of the nodes does every so often. Few rows: one a duty.
CREATE TABLE duties (
  name text COLLATE "C" PRIMARY KEY,
  -- Nobody takes it before.
  due_at bigint NOT NULL
);

-- Counts for rate limits and streams. UNLOGGED: a crash of the server empties them, which lets some more through for a minute, and no
-- request waits for a disk because it was counted. Nobody needs them elsewhere or later.

CREATE UNLOGGED TABLE rate_windows (
  key text COLLATE "C" PRIMARY KEY,
  taken integer NOT NULL,
  ends_at bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);

-- Nodes that hold places. Few, so that no index is worth its writes.
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

-- Messages behind a turn that waits for a person wait for nobody here, and do not count to what may wait. Nodes of the version before leave
-- `behind_waiting` as it is: until such a turn is at the head of its queue, they may count it where this version does not, or the other way.
ALTER TABLE turns
  ADD COLUMN behind_waiting smallint NOT NULL DEFAULT 0,
  -- In attempts that are over, on this server's clock. Nodes of the version before do not count theirs.
  ADD COLUMN ran_ms bigint NOT NULL DEFAULT 0;
UPDATE turns SET behind_waiting = 1
  WHERE ended_at IS NULL AND state = 'queued' AND session_key IN
    (SELECT session_key FROM turns WHERE ended_at IS NULL AND state = 'waiting');

-- When the attempt under way began; NULL where a node of the version before has begun it.
ALTER TABLE leases ADD COLUMN taken_at bigint;

-- What counts, and nothing else: counting must not cost more because many people are asked something.
CREATE INDEX CONCURRENTLY turns_waiting ON turns (session_key)
  WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0));
