import { expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../../test/postgres-server.ts";
import { NOTHING, target } from "../contract/scenario.suite.ts";
import { Connections } from "./connections.ts";
import { openPostgresStore } from "./open.ts";
import { lockSessions } from "./session-locks.ts";
import { send } from "./statement.ts";

const LOW = "00000000-0000-4000-8000-000000000001";
const HIGH = "ffffffff-0000-4000-8000-000000000001";

it.skipIf(await isWithoutPostgres())(
  "sessions are locked in the order of their ids, in whichever order they are named and were created",
  async () => {
    const server = await PostgresServer.start();
    const database = await server.createDatabase();
    const url = server.url(database);
    const store = await openPostgresStore({ url });
    const connections = new Connections({ url });
    try {
      const keys: number[] = [];
      for (const id of [HIGH, LOW])
        keys.push((await store.sessions.open(target(id), NOTHING))?.session.key ?? 0);
      for (const sought of [{ ids: [HIGH, LOW] }, { keys }]) {
        let locked: Promise<unknown> = Promise.resolve();
        await server.holding(
          database,
          `SELECT 1 FROM sessions WHERE id = '${LOW}' FOR UPDATE`,
          async (run) => {
            locked = connections.use(async (connection) => {
              await send(connection, "BEGIN");
              const rows = await lockSessions(connection, sought, "waits");
              await send(connection, "COMMIT");
              expect(rows).toHaveLength(2);
            });
            await server.untilWaiting(database);
            // Whoever waits for the first has not taken the second.
            await run(`SELECT 1 FROM sessions WHERE id = '${HIGH}' FOR UPDATE NOWAIT`);
          },
        );
        await locked;
      }
    } finally {
      await connections.end();
      await store.close();
      await server.stop();
    }
  },
  60_000,
);
