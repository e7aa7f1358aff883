import { describe } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../test/postgres-server.ts";
import { describeClusterBus } from "./cluster-bus.suite.ts";
import { PostgresTransport } from "./postgres-transport.ts";

describe.skipIf(await isWithoutPostgres())("a server of its own", () => {
  describeClusterBus("PostgreSQL", async () => {
    const server = await PostgresServer.start();
    return {
      port: server.port,
      tooLong: 8000,
      transport: ({ port, clock, logger }) =>
        new PostgresTransport({ url: `postgres://colloquy@127.0.0.1:${port}/postgres`, clock, logger }),
      connections: async () => {
        const text = "SELECT count(*)::integer FROM pg_stat_activity WHERE application_name = 'colloquy-bus'";
        const [row] = await server.query("postgres", text);
        return Number(row?.["count"]);
      },
      halt: () => server.halt(),
      resume: () => server.resume(),
      stop: () => server.stop(),
    };
  });
});
