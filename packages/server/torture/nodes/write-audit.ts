// Asks the database itself who wrote what: a trigger notes, for all that only the owner of a turn writes, under which epoch of the session
// it was committed and by which process. An epoch belongs to one owner, so that a second writer is a write of an old epoch that got through.

import type { PostgresServer } from "../../test/postgres-server.ts";
import type { Violations } from "../violations.ts";

const INSTALL = `
  CREATE TABLE torture_writes (session_key bigint, epoch bigint, writer text, PRIMARY KEY (session_key, epoch, writer));
  CREATE FUNCTION torture_note() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO torture_writes
      SELECT key, epoch, current_setting('application_name') FROM sessions WHERE key = NEW.session_key
      ON CONFLICT DO NOTHING;
    RETURN NULL;
  END $$;
  CREATE TRIGGER torture_steps AFTER INSERT ON steps FOR EACH ROW EXECUTE FUNCTION torture_note();
  CREATE TRIGGER torture_checkpoints AFTER INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION torture_note();
`;
const WRITERS = `
  SELECT session_key, epoch, string_agg(writer, ' and ') AS writers FROM torture_writes
  GROUP BY session_key, epoch HAVING count(*) > 1 LIMIT 20
`;
const NOTED = "SELECT count(*) AS count FROM torture_writes";

export async function installAudit(postgres: PostgresServer, database: string): Promise<void> {
  await postgres.query(database, INSTALL);
}

/** Adds a violation for every epoch that had two writers. Answers how many were written under. */
export async function checkAudit(
  postgres: PostgresServer,
  database: string,
  violations: Violations,
): Promise<number> {
  for (const row of await postgres.query(database, WRITERS)) {
    const { session_key: key, epoch, writers } = row;
    violations.add(
      "old epoch",
      `session ${String(key)}`,
      `epoch ${String(epoch)}`,
      `was written by ${String(writers)}`,
    );
  }
  const [noted] = await postgres.query(database, NOTED);
  const count = Number(noted?.["count"]);
  if (count === 0)
    violations.add("old epoch", "none", "audit", "nothing was noted, so that nothing is shown");
  return count;
}
