import { describe, expect, it } from "vitest";
import { createSystemClock } from "../clock.ts";
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

  it("carries texts of as many bytes as it says, and the server refuses one more", async () => {
    const server = await PostgresServer.start();
    const url = `postgres://colloquy@127.0.0.1:${server.port}/postgres`;
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const transport = new PostgresTransport({ url, clock: createSystemClock(), logger });
    const come: string[] = [];
    const longest = "x".repeat(transport.maxBytes);
    try {
      transport.start({ onText: (text) => come.push(text), onResumed: () => undefined });
      // Who listens later than this is sent has not missed anything: both connections must stand.
      await Promise.all([transport.ready(), transport.follow()]);
      await transport.send([{ sessionId: null, text: longest }]);
      await expect.poll(() => come, { timeout: 10_000 }).toEqual([longest]);
      await expect(transport.send([{ sessionId: null, text: `${longest}x` }])).rejects.toThrow();
    } finally {
      await transport.close();
      await server.stop();
    }
  }, 60_000);
});
