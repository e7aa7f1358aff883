-- Notes within each transaction who has written what, and what must not be. Everything is looked at when the transaction commits, so that
-- the order of its statements does not matter; what is undone leaves no note.

-- Who has taken an epoch of a session: the process that has raised it.
CREATE TABLE torture_epochs (session_key bigint, epoch bigint, writer text, PRIMARY KEY (session_key, epoch));
-- Who has written what only the owner of a turn writes, and under which epoch of its session.
CREATE TABLE torture_writes (
  source text, session_key bigint, epoch bigint, writer text, PRIMARY KEY (session_key, epoch, writer, source)
);
-- Which process an owner of leases is.
CREATE TABLE torture_owners (owner text PRIMARY KEY, writer text);
CREATE TABLE torture_found (kind text, session_key bigint, about text, detail text, PRIMARY KEY (kind, session_key, about));

CREATE FUNCTION torture_find(kind text, session_key bigint, about text, detail text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO torture_found VALUES (kind, session_key, about, detail || ', by ' || current_setting('application_name'))
  ON CONFLICT DO NOTHING
$$;

-- Whether this transaction copies a conversation: the log of the copy begins after its last event.
CREATE FUNCTION torture_is_copy(key bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT 1 FROM sessions s WHERE s.key = $1 AND event_floor = head)
$$;
-- Whether this transaction removes messages: the log begins with that.
CREATE FUNCTION torture_is_edit(key bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT 1 FROM sessions s JOIN events e ON e.session_key = s.key AND e.number = s.event_floor + 1
    WHERE s.key = $1 AND e.xmin = pg_current_xact_id()::xid)
$$;

-- Whether this transaction decides what a turn waits for: any process may do that, and the turn goes on elsewhere.
CREATE FUNCTION torture_is_decision(key bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT 1 FROM actions WHERE session_key = $1 AND status <> 'cancelled' AND resolved_at IS NOT NULL AND xmin = pg_current_xact_id()::xid)
$$;

CREATE FUNCTION torture_note_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF torture_is_copy(NEW.session_key)
    OR (TG_TABLE_NAME IN ('messages', 'turns') AND torture_is_decision(NEW.session_key)) THEN
    RETURN NULL;
  END IF;
  -- A turn that was tried too often is ended by whoever would have claimed it, and nobody takes an epoch for that.
  IF TG_TABLE_NAME = 'messages' THEN
    IF NEW.status = 'failed' AND EXISTS (SELECT 1 FROM turns
      WHERE session_key = NEW.session_key AND number = NEW.turn AND failure = 'turn_crashed') THEN
      RETURN NULL;
    END IF;
    -- A message that was to steer that turn waits for its own.
    IF NEW.role = 'user' AND NEW.status = 'queued' THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO torture_writes
    SELECT TG_TABLE_NAME, key, epoch, current_setting('application_name') FROM sessions WHERE key = NEW.session_key
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_writes AFTER INSERT ON steps DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_note_write();
CREATE CONSTRAINT TRIGGER torture_writes AFTER INSERT ON checkpoints DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_note_write();
-- Messages of people are written by any node, until a turn answers them.
CREATE CONSTRAINT TRIGGER torture_writes AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.role <> 'user') EXECUTE FUNCTION torture_note_write();
CREATE CONSTRAINT TRIGGER torture_rewrites AFTER UPDATE ON messages DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_note_write();
-- Whether a turn may be claimed is written by whoever finds its lease run out.
CREATE CONSTRAINT TRIGGER torture_rewrites AFTER UPDATE ON turns DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((OLD.state, OLD.steps, OLD.epoch, OLD.usage, OLD.agent_position, OLD.ended_at)
    IS DISTINCT FROM (NEW.state, NEW.steps, NEW.epoch, NEW.usage, NEW.agent_position, NEW.ended_at)
    AND NEW.failure IS DISTINCT FROM 'turn_crashed')
  EXECUTE FUNCTION torture_note_write();

CREATE FUNCTION torture_note_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO torture_owners VALUES (NEW.owner, current_setting('application_name')) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER torture_owners AFTER INSERT OR UPDATE OF owner ON leases
  FOR EACH ROW EXECUTE FUNCTION torture_note_owner();

CREATE FUNCTION torture_check_session() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  past_epoch bigint := 0;
  past_head bigint := 0;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    past_epoch := OLD.epoch;
    past_head := OLD.head;
  END IF;
  IF NEW.epoch > past_epoch THEN
    INSERT INTO torture_epochs VALUES (NEW.key, NEW.epoch, current_setting('application_name')) ON CONFLICT DO NOTHING;
  ELSIF NEW.epoch < past_epoch THEN
    PERFORM torture_find('old epoch', NEW.key, 'epoch ' || NEW.epoch, 'came after ' || past_epoch);
  END IF;
  IF NEW.head < past_head THEN
    PERFORM torture_find('broken log', NEW.key, 'head ' || NEW.head, 'came after ' || past_head);
  ELSIF NEW.head > past_head AND EXISTS (SELECT 1 FROM sessions WHERE key = NEW.key AND event_floor < NEW.head)
    AND NOT EXISTS (SELECT 1 FROM events WHERE session_key = NEW.key AND number = NEW.head) THEN
    -- A later command of the same transaction may have removed the session or the event.
    PERFORM torture_find('broken log', NEW.key, 'head ' || NEW.head, 'has no event');
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_check AFTER INSERT OR UPDATE ON sessions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_check_session();

-- A number that is there twice is refused by the table itself.
CREATE FUNCTION torture_check_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  log record;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    PERFORM torture_find('broken log', NEW.session_key, 'event ' || NEW.number, 'was changed');
    RETURN NULL;
  END IF;
  SELECT head, event_floor INTO log FROM sessions WHERE key = NEW.session_key;
  IF NOT FOUND AND EXISTS (SELECT 1 FROM events WHERE session_key = NEW.session_key AND number = NEW.number) THEN
    PERFORM torture_find('foreign message', NEW.session_key, 'event ' || NEW.number, 'was written into an incarnation that has ended');
  ELSIF NEW.number > log.head THEN
    PERFORM torture_find('broken log', NEW.session_key, 'event ' || NEW.number, 'is beyond the head ' || log.head);
  ELSIF NEW.number > log.event_floor + 1
    AND NOT EXISTS (SELECT 1 FROM events WHERE session_key = NEW.session_key AND number = NEW.number - 1) THEN
    PERFORM torture_find('broken log', NEW.session_key, 'event ' || NEW.number, 'has none before it');
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_check AFTER INSERT OR UPDATE ON events DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_check_event();

CREATE FUNCTION torture_check_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- An edit that removes the answer to an earlier message interrupts that one, or what stays of the answer.
  IF NEW.status = 'interrupted' AND torture_is_edit(NEW.session_key) THEN
    RETURN NULL;
  END IF;
  PERFORM torture_find('changed after sealed', NEW.session_key, 'message ' || NEW.position,
    'was ' || OLD.status || ' and was written again as ' || NEW.status);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_check AFTER UPDATE ON messages DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.status IN ('complete', 'interrupted', 'failed')) EXECUTE FUNCTION torture_check_message();

CREATE FUNCTION torture_check_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.ended_at IS NOT NULL
    AND NOT (NEW.state = 'interrupted' AND torture_is_edit(NEW.session_key)) THEN
    PERFORM torture_find('changed after sealed', NEW.session_key, 'turn ' || NEW.number, 'was written after its end');
  END IF;
  IF 1 < (SELECT count(*) FROM turns WHERE session_key = NEW.session_key AND ended_at IS NULL AND state = 'running') THEN
    PERFORM torture_find('two turns at once', NEW.session_key, 'turn ' || NEW.number, 'is not the only one that runs');
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_check AFTER INSERT OR UPDATE ON turns DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_check_turn();

-- The last step is written in the transaction that ends its turn: then the turn's row is of this transaction.
CREATE FUNCTION torture_check_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM turns WHERE session_key = NEW.session_key AND number = NEW.turn
    AND ended_at IS NOT NULL AND xmin <> pg_current_xact_id()::xid) THEN
    PERFORM torture_find('changed after sealed', NEW.session_key, 'turn ' || NEW.turn, TG_TABLE_NAME || ' were written after its end');
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER torture_check AFTER INSERT ON steps DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_check_text();
CREATE CONSTRAINT TRIGGER torture_check AFTER INSERT ON checkpoints DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION torture_check_text();
