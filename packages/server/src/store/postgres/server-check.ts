// Whether a server can be trusted with what this service keeps.

import type { Connections } from "./connections.ts";
import { prepare } from "./statement.ts";

/** PostgreSQL 15, as `server_version_num`. */
const OLDEST_VERSION = 150_000;

const server = prepare<
  [],
  {
    readonly version: number;
    readonly name: string;
    readonly encoding: string;
    readonly synchronous_commit: string;
  }
>(
  `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS name,
     current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS synchronous_commit`,
);

/** Answers the version's name. Rejects with a sentence for the person who started the process. */
export async function checkServer(connections: Pick<Connections, "use">): Promise<string> {
  const found = await connections.use((connection) => server.get(connection));
  if (found === undefined) throw new Error("The database does not say which version it is");
  if (found.version < OLDEST_VERSION) {
    throw new Error(`The database is PostgreSQL ${found.name}. Colloquy needs version 15 or newer.`);
  }
  if (found.encoding !== "UTF8") {
    throw new Error(
      `The database keeps text as ${found.encoding}. Colloquy needs one that was created with ENCODING 'UTF8'.`,
    );
  }
  if (found.synchronous_commit === "off") {
    throw new Error(
      "The database may lose what it has just committed (synchronous_commit is off), and this service promises not to. " +
        "Turn it on for this database: ALTER DATABASE … SET synchronous_commit = 'on'.",
    );
  }
  return found.name;
}
