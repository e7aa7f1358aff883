import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useOwnPostgres } from "../../server/test/use-postgres.ts";
import { TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { describeClusterBus } from "@colloquy/testing/internal/bus/cluster-bus.suite";
import { ClusterBus } from "@colloquy/engine/internal/bus/cluster-bus";
import { PostgresTransport } from "./transport.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(await isWithoutPostgres())("PostgresTransport", () => {
  const server = useOwnPostgres();

  /** Starts a transport and waits for both connections. */
  async function connected(port: number, clock: Clock, onText: (text: string) => void) {
    const url = `postgres://colloquy@127.0.0.1:${port}/postgres`;
    const transport = new PostgresTransport({ url, clock, logger: SILENT });
    transport.start({ onText, onResumed: () => undefined });
    await Promise.all([transport.ready(), transport.follow()]);
    return transport;
  }

  describeClusterBus("PostgreSQL", async () => ({
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
    stop: async () => undefined,
  }));

  it("sends texts of up to `maxBytes` bytes, and the server rejects one more byte", async () => {
    const come: string[] = [];
    // A listener that connects after a send has missed nothing, so wait for both connections.
    const transport = await connected(server.port, createSystemClock(), (text) => come.push(text));
    const longest = "x".repeat(transport.maxBytes);
    try {
      await transport.send([{ sessionId: null, text: longest }]);
      await expect.poll(() => come).toEqual([longest]);
      await expect(transport.send([{ sessionId: null, text: `${longest}x` }])).rejects.toThrow();
    } finally {
      await transport.close();
    }
  });

  it("sends the notifications of one tick in one transaction, to every listener and in order", async () => {
    const [sessions, come]: [string[], string[]] = [Array.from({ length: 300 }, () => randomUUID()), []];
    const clock = createSystemClock();
    const listening = await connected(server.port, clock, (text) => come.push(text.split(" ")[1] ?? ""));
    const transport = new PostgresTransport({ url: server.url("postgres"), clock, logger: SILENT });
    const bus = new ClusterBus({ node: "sends", transport, clock, logger: SILENT });
    // A transaction that notifies is assigned an id; a read-only one is not.
    const nextTransaction = async () => {
      const text = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::integer AS next";
      return Number((await server.query("postgres", text))[0]?.["next"]);
    };
    try {
      await transport.ready();
      const before = await nextTransaction();
      for (const id of sessions)
        bus.publish(id, { kind: "moved", incarnation: "incarnation", epoch: 1, head: 1 });
      await expect.poll(() => come).toEqual(sessions);
      expect((await nextTransaction()) - before).toBe(1);
    } finally {
      await bus.close();
      await listening.close();
    }
  });

  it("shares one check on each connection between concurrent callers", async () => {
    const proxy = await TcpProxy.start(server.port);
    const clock = new ManualClock();
    const transport = await connected(proxy.port, clock, () => undefined);
    const held: (() => void)[] = [];
    let asked = 0;
    proxy.fromClient = (bytes, link) => {
      asked += bytes.toString("latin1").split("SELECT 1").length - 1;
      held.push(() => link.server.write(bytes));
    };
    const pass = (): void => {
      const { fromClient } = proxy;
      proxy.fromClient = (bytes, link) => {
        fromClient?.(bytes, link);
        held.pop()?.();
      };
      for (const write of held.splice(0)) write();
    };
    try {
      const late = transport.check().catch((error: unknown) => error);
      await clock.advance(5_000);
      expect(await late).toHaveProperty("message", "The database did not answer in time");
      const others = [transport.check(), transport.check()];
      await expect.poll(() => asked).toBe(2);
      pass();
      await Promise.all(others);
      expect(asked).toBe(2);
      await transport.check();
      expect(asked).toBe(4);
    } finally {
      await transport.close();
      await proxy.stop();
    }
  });
});
