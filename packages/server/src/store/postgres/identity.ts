import { Connections } from "./connections.ts";
import { prepare } from "./statement.ts";

const identity = prepare<[], { readonly identity: string }>(
  `SELECT (SELECT system_identifier FROM pg_control_system())::text || '-' || oid AS identity
   FROM pg_database WHERE datname = current_database()`,
);

/**
 * What tells this database from every other one, by whatever name it is reached: the identifier that its cluster was given when it was
 * made, and the database's number in it. 1 to 63 digits and dashes.
 */
export async function databaseIdentity(url: string): Promise<string> {
  const connections = new Connections({ url, connections: 1 });
  try {
    const row = await connections.use((connection) => identity.get(connection));
    if (row === undefined) throw new Error("The database does not say which one it is");
    return row.identity;
  } finally {
    await connections.end();
  }
}
