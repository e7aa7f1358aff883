import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../../test/postgres-server.ts";
import { Connections } from "./connections.ts";
import { prepare, send } from "./statement.ts";

const double = prepare<[number], { readonly doubled: number }>("SELECT 2 * $1::integer AS doubled");

describe.skipIf(await isWithoutPostgres())("statements that are sent in one go", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(() => server.stop());

  it("leave in one piece, and nothing is held back once all of them are said", async () => {
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
});
