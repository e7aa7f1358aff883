import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { usePostgres } from "../../server/test/use-postgres.ts";
import { Connections } from "./connections.ts";
import { prepare, send } from "./statement.ts";

const double = prepare<[number], { readonly doubled: number }>("SELECT 2 * $1::integer AS doubled");

const insert = prepare<[number]>("INSERT INTO kept (value) VALUES ($1)");

describe.skipIf(await isWithoutPostgres())("statements sent together", () => {
  const server = usePostgres();

  it("are sent in one write, and nothing is held back after the last", async () => {
    const connections = new Connections({ url: server.url(await server.createDatabase()) });
    const answers = await connections.use(async (connection) => {
      if (!(connection instanceof Client)) throw new Error("A pool lends clients");
      const { stream } = connection.connection;
      const first = double.get(connection, 1);
      const waiting = [stream.writableLength];
      const second = send(connection, "SELECT 4 AS doubled");
      waiting.push(stream.writableLength);
      const third = double.get(connection, 3);
      waiting.push(stream.writableLength);
      expect(waiting[0]).toBeGreaterThan(0);
      expect(waiting).toEqual(waiting.toSorted((left, right) => left - right));
      expect(new Set(waiting).size).toBe(3);
      const rows = [await first, (await second).rows[0] as unknown, await third];
      expect(stream.writableCorked).toBe(0);
      return rows;
    });
    expect(answers).toEqual([{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }]);
    await connections.end();
  });

  it("close their connection if one of them cannot be sent, so that no COMMIT is sent without it", async () => {
    const connections = new Connections({ url: server.url(await server.createDatabase()) });
    await connections.use((connection) => send(connection, "CREATE TABLE kept (value integer)"));
    const cannotBeWritten = { toPostgres: () => JSON.parse("{") as unknown } as unknown as number;
    const sent = await connections
      .use((connection) =>
        Promise.allSettled([
          send(connection, "BEGIN"),
          insert.run(connection, 1),
          insert.run(connection, cannotBeWritten),
          send(connection, "COMMIT"),
        ]),
      )
      .catch((error: unknown) => [error]);
    expect(sent.at(-1)).toMatchObject({ status: "rejected" });
    expect((await connections.use((connection) => send(connection, "SELECT value FROM kept"))).rows).toEqual(
      [],
    );
    await connections.end();
  });
});
