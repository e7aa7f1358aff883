-- What operators are shown: how turns went, and sessions by their last use.

-- The rig that a turn was started on last, and when it was started first and last. NULL before it starts, and where a node of the version
-- before has started it; such a node leaves what stands there as it is.
ALTER TABLE turns
  ADD COLUMN model text COLLATE "C",
  ADD COLUMN started_at bigint,
  ADD COLUMN attempt_at bigint;

CREATE INDEX CONCURRENTLY turns_by_end ON turns (ended_at, session_key, number) WHERE ended_at IS NOT NULL;

-- Beside those by use that cleanup has: sessions that it never takes.
CREATE INDEX CONCURRENTLY sessions_bound_by_use ON sessions (coalesce(app, 'default'), used_at) WHERE retention = 2;
