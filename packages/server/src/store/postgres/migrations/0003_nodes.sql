-- What nodes on one database share.

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
