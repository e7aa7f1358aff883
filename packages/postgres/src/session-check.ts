// Refuses a pooler that gives each transaction or statement another server connection. LISTEN, the time limits,
// the planner settings and the lock of migrations belong to a session, and would be lost without an error.

import { Connections, type Connection, type ConnectionOptions } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { send } from "./statement.ts";

/** Attempts to see two clients on one server connection. One suffices if nothing else uses the pool. */
const ROUNDS = 3;

const SHARED =
  "The database is behind a pooler in transaction or statement mode, which loses LISTEN and every setting of a session. " +
  "Connect to the database itself, or to a pool in session mode (pool_mode = session in PgBouncer).";
const TOO_SMALL =
  "The database answers one connection, but not a second one. " +
  "If it is behind a pooler, enlarge the pool (default_pool_size in PgBouncer) to 16 connections for each node.";

/** Rejects with a user-facing message if connections to `options.url` are not sessions of the server. */
export async function checkSessions(
  connections: Pick<Connections, "use">,
  options: ConnectionOptions,
): Promise<void> {
  const others = new Connections({ ...options, connections: 1 });
  try {
    const areShared = await connections.use(async (first) => {
      await backendOf(first);
      return await others.use((second) => areOnOneBackend(first, second));
    });
    if (areShared) throw new Error(SHARED);
  } finally {
    await others.end();
  }
}

/**
 * Returns true if the server's process changes under a connection, or serves both. Two statements in a row
 * reveal pools that go round, the change to the other connection those that lend the last one again.
 */
async function areOnOneBackend(first: Connection, second: Connection): Promise<boolean> {
  const other = await backendOf(second).catch((error: unknown) => {
    if (error instanceof Error && error.name === LOST) throw new Error(TOO_SMALL, { cause: error });
    throw error;
  });
  const seen = { first: new Set<number>(), second: new Set([other]) };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [connection, backends] of [
      [first, seen.first],
      [first, seen.first],
      [second, seen.second],
      [second, seen.second],
    ] as const) {
      backends.add(await backendOf(connection));
    }
  }
  return seen.first.size > 1 || seen.second.size > 1 || seen.first.isSubsetOf(seen.second);
}

const LOST = connectionLost(null).name;

/** Unprepared, because a pooler may not know prepared statements. */
async function backendOf(connection: Connection): Promise<number> {
  const { rows } = await send(connection, "SELECT pg_backend_pid() AS backend");
  return (rows[0] as { readonly backend: number }).backend;
}
