// Whether the database takes a write, up to the commit: its disk may be full or its transactions read-only while it answers every question.
// A table of its own is made, filled and dropped in one transaction, so that nothing of it is ever seen and nothing is left.

import { randomUUID } from "node:crypto";
import { Connections } from "../store/postgres/connections.ts";
import { send } from "../store/postgres/statement.ts";
import { broken, failed, type Finding } from "./finding.ts";

/** Enough that it does not fit into what a full disk has left in files that are there already. */
const ROWS = 1000;
const BYTES_OF_A_ROW = 1000;

/** `disk_full`, `read_only_sql_transaction` (postgresql.org/docs/current/errcodes-appendix.html). */
const DISK_FULL = "53100";
const READ_ONLY = "25006";

/** What is wrong, `null` where the write was committed. `place` is how findings call the database. */
export async function tryToWrite(url: string, place: string): Promise<Finding | null> {
  const table = `colloquy_doctor_${randomUUID().replaceAll("-", "")}`;
  const connections = new Connections({ url, connections: 1 });
  try {
    // Sent as one text they are one transaction.
    await connections.use((connection) =>
      send(
        connection,
        `CREATE TABLE ${table} (content text NOT NULL);
         INSERT INTO ${table} SELECT repeat('x', ${BYTES_OF_A_ROW}) FROM generate_series(1, ${ROWS});
         DROP TABLE ${table}`,
      ),
    );
    return null;
  } catch (error) {
    return refusal(place, error);
  } finally {
    await connections.end();
  }
}

function refusal(place: string, error: unknown): Finding {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === DISK_FULL) {
    return failed(
      "database",
      `${place} has no room for a write`,
      error,
      "Make room on the disk of the database's server: until then chats are answered with 507, and nothing is lost.",
    );
  }
  if (code === READ_ONLY) {
    return broken(
      "database",
      `${place} takes no writes: its transactions are read-only.`,
      "Let COLLOQUY_DATABASE_URL name the primary; if this is the one, see SHOW default_transaction_read_only, and turn it off: ALTER DATABASE … SET default_transaction_read_only = off (or ALTER ROLE …, or postgresql.conf).",
    );
  }
  return failed("database", `${place} did not take a write`, error, "See what the log of its server says.");
}
