-- For the operators' reports: ends of turns, and sessions by last use.

-- The model of the turn's last start, and the times of its first and last start. NULL before it starts, and if a node of the previous
-- version started it; such a node leaves the columns unchanged.
ALTER TABLE turns ADD COLUMN model TEXT;
ALTER TABLE turns ADD COLUMN started_at INTEGER;
ALTER TABLE turns ADD COLUMN attempt_at INTEGER;

CREATE INDEX turns_by_end ON turns (ended_at, session_key, number) WHERE ended_at IS NOT NULL;

-- The indexes of the cleanup lack the sessions that it never removes.
CREATE INDEX sessions_bound_by_use ON sessions (coalesce(app, 'default'), used_at) WHERE retention = 2;
