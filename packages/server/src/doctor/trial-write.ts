// Commits a test write: the disk may be full or transactions read-only although reads succeed. The test creates, fills
// and drops a table in one transaction, so that it is never visible and leaves nothing behind.

import { randomUUID } from "node:crypto";
import { Connections } from "../store/postgres/connections.ts";
import { send } from "../store/postgres/statement.ts";
import { broken, failed, type Finding } from "./finding.ts";

/** More than fits into the free space of existing files on a full disk. */
const ROWS = 1000;
const BYTES_PER_ROW = 1000;

/** `disk_full`, `read_only_sql_transaction` (postgresql.org/docs/current/errcodes-appendix.html). */
const DISK_FULL = "53100";
const READ_ONLY = "25006";

/** Returns the problem, or `null` if the write was committed. `place` names the database in findings. */
export async function tryToWrite(url: string, place: string): Promise<Finding | null> {
  const table = `colloquy_doctor_${randomUUID().replaceAll("-", "")}`;
  const connections = new Connections({ url, connections: 1 });
  try {
    // A multi-statement query runs as one transaction.
    await connections.use((connection) =>
      send(
        connection,
        `CREATE TABLE ${table} (content text NOT NULL);
         INSERT INTO ${table} SELECT repeat('x', ${BYTES_PER_ROW}) FROM generate_series(1, ${ROWS});
         DROP TABLE ${table}`,
      ),
    );
    return null;
  } catch (error) {
    return writeFailure(place, error);
  } finally {
    await connections.end();
  }
}

function writeFailure(place: string, error: unknown): Finding {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === DISK_FULL) {
    return failed(
      "database",
      `${place} has no room for a write`,
      error,
      "Free space on the disk of the database server: until then chats are rejected with 507, and nothing is lost.",
    );
  }
  if (code === READ_ONLY) {
    return broken(
      "database",
      `${place} accepts no writes: its transactions are read-only.`,
      "Point COLLOQUY_DATABASE_URL at the primary; if it already does, check SHOW default_transaction_read_only, and turn it off: ALTER DATABASE … SET default_transaction_read_only = off (or ALTER ROLE …, or postgresql.conf).",
    );
  }
  return failed("database", `${place} rejected a write`, error, "Check the log of its server.");
}
