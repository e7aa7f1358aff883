import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { isWithoutNats, NatsServer } from "../../server/test/nats-server.ts";
import { TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { describeClusterBus } from "@colloquy/testing/internal/bus/cluster-bus.suite";
import { NatsTransport } from "./transport.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(await isWithoutNats())("NatsTransport", () => {
  describeClusterBus("NATS", async () => {
    const server = await NatsServer.start("max_payload: 8KB");
    return {
      port: server.port,
      tooLong: 8 * 1024,
      transport: ({ port, clock, logger }) =>
        new NatsTransport({ url: `nats://127.0.0.1:${port}`, namespace: "test", clock, logger }),
      connections: () => server.connections(),
      halt: () => server.halt(),
      resume: () => server.resume(),
      stop: () => server.stop(),
    };
  });

  it.each([
    ["a user", "authorization { user: node, password: 'p@ss' }", "node:p%40ss@"],
    ["a token", "authorization { token: 'to/ken' }", "to%2Fken@"],
    ["a password that is not encoded", "authorization { user: node, password: '50%off' }", "node:50%off@"],
  ])("authenticates %s from the URL", async (_, settings, credentials) => {
    const server = await NatsServer.start(settings);
    try {
      const url = `nats://${credentials}127.0.0.1:${server.port}`;
      const transport = new NatsTransport({
        url,
        namespace: "test",
        clock: createSystemClock(),
        logger: SILENT,
      });
      await new Promise<void>((resolve) => transport.start({ onText: () => undefined, onResumed: resolve }));
      expect(await transport.ready()).toBe(true);
      await transport.close();
    } finally {
      await server.stop();
    }
  });

  it.each([
    ["subscription", "publish: 'colloquy.>', subscribe: 'other'"],
    ["publish", "publish: 'other', subscribe: 'colloquy.>'"],
  ])("reports once what the server forbids: %s", async (operation, permissions) => {
    const user = `{ user: node, password: pass, permissions: { ${permissions} } }`;
    const server = await NatsServer.start(`authorization { users: [ ${user} ] }`);
    const url = `nats://node:pass@127.0.0.1:${server.port}`;
    const errors: object[] = [];
    const logger = { ...SILENT, error: (fields: object) => void errors.push(fields) };
    const transport = new NatsTransport({ url, namespace: "test", clock: createSystemClock(), logger });
    await new Promise<void>((resolve) => transport.start({ onText: () => undefined, onResumed: resolve }));
    for (const sessionId of ["one", "two"]) {
      await transport.follow(sessionId);
      await transport.send([{ sessionId, text: "text" }]);
    }
    await transport.close();
    expect(errors).toEqual([{ to: "NATS", operation, allow: "colloquy.test.>" }]);
    await server.stop();
  });

  it("separates clusters that share a server, and delivers only followed sessions", async () => {
    const server = await NatsServer.start();
    const open = async (namespace: string, received: string[]) => {
      const url = `nats://127.0.0.1:1,nats://127.0.0.1:${server.port}`;
      const transport = new NatsTransport({ url, namespace, clock: createSystemClock(), logger: SILENT });
      const onText = (text: string) => void received.push(text);
      await new Promise<void>((resolve) => transport.start({ onText, onResumed: resolve }));
      await transport.follow("x");
      return transport;
    };
    const [received, foreign]: [string[], string[]] = [[], []];
    const transports = await Promise.all([open("one", []), open("one", received), open("two", foreign)]);
    const packet = (sessionId: string | null) => ({ sessionId, text: `to ${sessionId ?? "all"}` });
    await transports[0].send([packet("x"), packet("y"), packet(null)]);
    // Texts sent before a flush have arrived when a later round trip completes.
    await transports[1].follow("z");
    await transports[2].follow("z");
    expect([received, foreign]).toEqual([["to x", "to all"], []]);
    transports[1].unfollow("x");
    await transports[1].follow("z");
    await transports[0].send([packet("x"), packet("z")]);
    await transports[1].follow("other");
    expect(received).toEqual(["to x", "to all", "to z"]);
    await Promise.all(transports.map((transport) => transport.close()));
    await server.stop();
  });

  it("rejects a send as soon as the connection breaks", async () => {
    const server = await NatsServer.start();
    const proxy = await TcpProxy.start(server.port);
    const url = `nats://127.0.0.1:${proxy.port}`;
    const transport = new NatsTransport({ url, namespace: "test", clock: new ManualClock(), logger: SILENT });
    await new Promise<void>((resolve) => transport.start({ onText: () => undefined, onResumed: resolve }));
    proxy.isSilent = true;
    const sent = transport.send([{ sessionId: "x", text: "text" }]);
    proxy.cut();
    await expect(sent).rejects.toThrow("The connection to NATS broke");
    await transport.close();
    await proxy.stop();
    await server.stop();
  });

  it("follows a session that was requested as the connection ended", async () => {
    const server = await NatsServer.start();
    const proxy = await TcpProxy.start(server.port);
    const open = async (port: number, received: string[]) => {
      const url = `nats://127.0.0.1:${port}`;
      const transport = new NatsTransport({
        url,
        namespace: "test",
        clock: createSystemClock(),
        logger: SILENT,
      });
      const resumed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let times = 0;
      transport.start({
        onText: (text) => void received.push(text),
        onResumed: () => resumed[times++]?.resolve(),
      });
      await resumed[0]?.promise;
      return { transport, again: resumed[1]?.promise };
    };
    const sockets: Socket[] = [];
    const see = (message: unknown): void =>
      void sockets.push((message as { readonly socket: Socket }).socket);
    subscribe("net.client.socket", see);
    const received: string[] = [];
    const { transport, again } = await open(proxy.port, received);
    unsubscribe("net.client.socket", see);
    const other = await open(server.port, []);
    const ids: string[] = [];
    // Try every microtask after the end, so that one falls between the end of the connection and its
    // detection.
    const followOn = async (): Promise<void> => {
      for (let step = 0; step < 200; step += 1) {
        ids.push(`s${step}`);
        void transport.follow(`s${step}`).catch(() => undefined);
        await Promise.resolve();
      }
    };
    const mine = sockets.find(({ remotePort }) => remotePort === proxy.port);
    mine?.once("close", () => void followOn());
    proxy.cut();
    await again;
    expect(ids).toHaveLength(200);
    await other.transport.send(ids.map((id) => ({ sessionId: id, text: id })));
    await transport.follow("last");
    expect(received).toEqual(ids);
    await Promise.all([transport.close(), other.transport.close()]);
    await proxy.stop();
    await server.stop();
  });

  it.each(["", "a.b", "a b", "a>", "x".repeat(64)])("rejects the namespace %o", (namespace) => {
    const options = { url: "nats://127.0.0.1:4222", clock: createSystemClock(), logger: SILENT };
    expect(() => new NatsTransport({ ...options, namespace })).toThrow("is not a valid namespace");
  });
});
