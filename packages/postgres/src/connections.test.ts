import { describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { usePostgres } from "../../server/test/use-postgres.ts";
import { TcpProxy, type Link } from "@colloquy/testing/internal/tcp-proxy";
import { CONNECTIONS, Connections } from "./connections.ts";
import { send } from "./statement.ts";

/** Timeouts longer than any test, because every wait for a connection or a lock must succeed. */
const PATIENT = { connectMs: 120_000, statementMs: 120_000 };

describe.skipIf(await isWithoutPostgres())("the pool of connections", () => {
  const server = usePostgres();

  it.each([
    ["the configured number", { connections: 2 }, 2],
    ["ten by default", {}, CONNECTIONS],
  ] as const)("never opens more than %s, and answers all waiting callers", async (_, options, most) => {
    const database = await server.createDatabase();
    await server.query(database, "CREATE TABLE held ()");
    const proxy = await TcpProxy.start(server.port);
    const opened = new Set<Link>();
    proxy.fromClient = (bytes, link) => {
      opened.add(link);
      link.server.write(bytes);
    };
    const url = server.url(database).replace(`:${server.port}/`, `:${proxy.port}/`);
    const connections = new Connections({ url, ...PATIENT, ...options });
    const look = () => connections.use((connection) => send(connection, "SELECT count(*) FROM held"));
    let looks: readonly ReturnType<typeof look>[] = [];
    await server.holding(database, "LOCK TABLE held IN ACCESS EXCLUSIVE MODE", async () => {
      looks = Array.from({ length: 50 }, look);
      await server.untilWaiting(database, most);
    });
    expect((await Promise.all(looks)).map(({ rows }) => rows)).toEqual(looks.map(() => [{ count: 0 }]));
    expect(opened.size).toBe(most);
    await connections.end();
    await proxy.stop();
  });
});
