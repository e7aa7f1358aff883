// The bus contract between nodes, for every transport.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "../harness.ts";
import { ManualClock } from "../manual-clock.ts";
import { TcpProxy } from "../tcp-proxy.ts";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { ClusterBus, type ClusterBusOptions } from "@colloquy/engine/internal/bus/cluster-bus";
import { delta, eventsNotification, RecordingListener } from "./recording-listener.ts";
import type { Transport } from "@colloquy/engine/internal/core/ports/driven/transport";

/** The server of a transport, which a test can halt. */
export interface Carrier {
  readonly port: number;
  /** A number of bytes beyond the limit of one text. */
  readonly tooLong: number;
  /** Returns a transport that connects to this port. */
  transport(options: {
    readonly port: number;
    readonly clock: Clock;
    readonly logger: Logger;
  }): Transport | Promise<Transport>;
  /** Counts the nodes' connections to it. */
  connections(): Promise<number>;
  halt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

const SESSION = "11111111-1111-4111-8111-111111111111";
const OTHER = "22222222-2222-4222-8222-222222222222";
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface Node {
  readonly bus: ClusterBus;
  readonly received: RecordingListener;
  readonly proxy: TcpProxy;
}

export function describeClusterBus(name: string, start: () => Promise<Carrier>): void {
  describe(`bus over ${name}`, () => {
    let carrier: Carrier;
    const nodes: Node[] = [];
    beforeAll(async () => {
      carrier = await start();
    }, 60_000);
    afterAll(() => carrier.stop());
    afterEach(async () => {
      await Promise.all(nodes.splice(0).map(close));
    });

    /** Starts a node that is connected and follows these sessions. */
    async function node(
      follows: readonly string[] = [],
      options: Partial<Pick<ClusterBusOptions, "clock" | "maxWaitingBytes" | "onLoss">> = {},
    ): Promise<Node> {
      const proxy = await TcpProxy.start(carrier.port);
      const clock = options.clock ?? createSystemClock();
      const transport = await carrier.transport({ port: proxy.port, clock, logger: SILENT });
      const bus = new ClusterBus({
        node: `node-${crypto.randomUUID()}`,
        transport,
        clock,
        logger: SILENT,
        ...options,
      });
      const received = new RecordingListener(bus);
      const made = { bus, received, proxy };
      nodes.push(made);
      await received.until(({ resumed }) => resumed > 0);
      await transport.ready();
      await Promise.all(follows.map((sessionId) => bus.follow(sessionId).ready));
      return made;
    }

    async function close({ bus, proxy }: Node): Promise<void> {
      await bus.close();
      await proxy.stop();
    }

    /** Publishes on one node until the other receives it, because the time of the reconnect is unknown. */
    async function untilThrough(from: Node, to: Node, step = turn): Promise<void> {
      const isThere = to.received.until(({ notifications }) =>
        notifications.some(({ notification }) => notification.incarnation === "again"),
      );
      let isOver = false;
      void isThere.then(() => {
        isOver = true;
      });
      while (!isOver) {
        from.bus.publish(SESSION, { kind: "deleted", incarnation: "again" });
        await step();
      }
    }

    it("checks the connection by a round trip to the server, with a time limit", async () => {
      const proxy = await TcpProxy.start(carrier.port);
      const clock = new ManualClock();
      const transport = await carrier.transport({ port: proxy.port, clock, logger: SILENT });
      await expect(transport.check()).rejects.toThrow("There is no connection");
      await new Promise<void>((resolve) => transport.start({ onText: () => undefined, onResumed: resolve }));
      await transport.ready();
      await transport.check();
      proxy.isSilent = true;
      const ends: string[] = [];
      const check = transport.check().then(
        () => ends.push("answered"),
        (error: Error) => ends.push(error.message),
      );
      await clock.advance(4_999);
      expect(ends).toEqual([]);
      await clock.advance(1);
      expect(ends).toEqual([expect.stringMatching(/ did not answer in time$/)]);
      await check;
      await transport.close();
      await proxy.stop();
    });

    it("notifies followers elsewhere in the order of publication", async () => {
      const [here, elsewhere] = await Promise.all([node([SESSION]), node([SESSION])]);
      const notifications = Array.from({ length: 300 }, (_, index) => eventsNotification(index + 1));
      for (const notification of notifications.slice(0, 100)) here.bus.publish(SESSION, notification);
      expect(elsewhere.received.notifications).toEqual([]);
      for (const notification of notifications.slice(100)) {
        here.bus.publish(SESSION, notification);
        await Promise.resolve();
      }
      await elsewhere.received.until((received) => received.notifications.length >= 300);
      expect(elsewhere.received.notifications).toEqual(
        notifications.map((notification) => ({ sessionId: SESSION, notification, origin: "elsewhere" })),
      );
      expect(here.received.notifications).toEqual([]);
    });

    it("does not deliver a notification back to its publisher", async () => {
      const [here, elsewhere] = await Promise.all([node([SESSION]), node([SESSION])]);
      here.bus.publish(SESSION, eventsNotification(1));
      await elsewhere.received.until(({ notifications }) => notifications.length === 1);
      elsewhere.bus.publish(SESSION, eventsNotification(2));
      await here.received.until(({ notifications }) => notifications.length >= 1);
      // An echo would have arrived before the reply.
      expect(here.received.notifications).toEqual([
        { sessionId: SESSION, notification: eventsNotification(2), origin: "elsewhere" },
      ]);
    });

    it("delivers notifications of a followed session until it is followed no more", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([OTHER])]);
      const following = elsewhere.bus.follow(SESSION);
      await following.ready;
      here.bus.publish(SESSION, eventsNotification(1));
      await elsewhere.received.until(({ notifications }) => notifications.length === 1);
      following.stop();
      here.bus.publish(SESSION, eventsNotification(2));
      here.bus.publish(OTHER, eventsNotification(3));
      await elsewhere.received.until(({ notifications }) => notifications.length >= 2);
      expect(elsewhere.received.notifications.map(({ sessionId }) => sessionId)).toEqual([SESSION, OTHER]);
      await elsewhere.bus.follow(SESSION).ready;
      here.bus.publish(SESSION, eventsNotification(4));
      await elsewhere.received.until(({ notifications }) => notifications.length >= 3);
      expect(elsewhere.received.notifications.at(-1)).toMatchObject({ notification: eventsNotification(4) });
    });

    it("notifies every other node of work, but not its own", async () => {
      const [here, elsewhere] = await Promise.all([node(), node()]);
      here.bus.notifyWork();
      await elsewhere.received.until(({ workNotices }) => workNotices === 1);
      elsewhere.bus.notifyWork();
      await here.received.until(({ workNotices }) => workNotices > 0);
      expect([here.received.workNotices, elsewhere.received.workNotices]).toEqual([1, 1]);
    });

    it("sends a hint with the new head instead of events that are too long", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([SESSION])]);
      here.bus.publish(SESSION, eventsNotification(7, "x".repeat(carrier.tooLong)));
      here.bus.publish(SESSION, eventsNotification(8));
      await elsewhere.received.until(({ notifications }) => notifications.length >= 2);
      expect(elsewhere.received.notifications.map(({ notification }) => notification)).toEqual([
        { kind: "moved", incarnation: "a", epoch: 1, head: 7 },
        eventsNotification(8),
      ]);
    });

    it("splits a long delta into pieces that join to the same text", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([SESSION])]);
      const text = 'ein "ü" \\ 👩‍👩‍👧 \u0001\n'.repeat(Math.ceil(carrier.tooLong / 16));
      here.bus.publish(SESSION, delta(5, text));
      await elsewhere.received.until((received) => received.text(5).length >= text.length);
      expect(elsewhere.received.text(5)).toBe(text);
      expect(elsewhere.received.notifications.length).toBeGreaterThan(1);
      expect(
        elsewhere.received.notifications.every(
          ({ notification }) => notification.kind === "delta" && notification.text.isWellFormed(),
        ),
      ).toBe(true);
    });

    it("reconnects after a broken connection, and reports that notifications may be lost", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([SESSION])]);
      const before = elsewhere.received.resumed;
      elsewhere.proxy.cut();
      await elsewhere.received.until(({ resumed }) => resumed > before);
      here.bus.publish(SESSION, eventsNotification(1));
      await elsewhere.received.until(({ notifications }) => notifications.length >= 1);
      here.proxy.cut();
      await untilThrough(here, elsewhere);
      expect(elsewhere.received.notifications[0]).toMatchObject({ notification: eventsNotification(1) });
    });

    it("bounds its memory without a connection, throws nothing, and reports the loss to the other nodes", async () => {
      const losses: string[] = [];
      const [here, elsewhere] = await Promise.all([
        node([], { maxWaitingBytes: 100_000, onLoss: (loss) => losses.push(loss) }),
        node([SESSION]),
      ]);
      here.proxy.fromClient = (_, { client }) => client.destroy();
      here.proxy.cut();
      let most = 0;
      for (let number = 1; number <= 2000; number += 1) {
        here.bus.publish(SESSION, eventsNotification(number, "x".repeat(1000)));
        here.bus.publish(OTHER, { kind: "deleted", incarnation: `${number}` });
        here.bus.publish(SESSION, delta(number, "text"));
        if (number % 100 === 0) await turn();
        most = Math.max(most, here.bus.waitingBytes);
      }
      expect(most).toBeLessThanOrEqual(100_000);
      expect(losses).toEqual(expect.arrayContaining(["deltas", "events", "all"]));
      await here.bus.follow(OTHER).ready;
      expect(elsewhere.received.resumed).toBe(1);
      here.proxy.fromClient = null;
      await elsewhere.received.until(({ resumed }) => resumed > 1);
      await untilThrough(here, elsewhere);
    });

    it("drops an unresponsive connection, whether it sends or listens", async () => {
      const clock = new ManualClock();
      const [here, elsewhere] = await Promise.all([node([], { clock }), node([SESSION], { clock })]);
      here.proxy.isSilent = true;
      elsewhere.proxy.isSilent = true;
      here.bus.publish(SESSION, eventsNotification(1));
      // The check starts after the first five seconds and times out after the second.
      await clock.advance(5000);
      await clock.advance(5000);
      here.proxy.isSilent = false;
      elsewhere.proxy.isSilent = false;
      await untilThrough(here, elsewhere, async () => {
        await clock.advance(100);
        // The server needs real time to answer.
        await new Promise((resolve) => setTimeout(resolve, 5));
      });
      expect(elsewhere.received.resumed).toBeGreaterThan(1);
      expect(elsewhere.received.notifications.map(({ notification }) => notification)).not.toContainEqual(
        eventsNotification(1),
      );
      // Closing the dropped connections has timed out by now.
      await clock.advance(1000);
    });

    it("reconnects when its server restarts", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([SESSION])]);
      await carrier.halt();
      here.bus.publish(SESSION, eventsNotification(1));
      await elsewhere.bus.follow(OTHER).ready;
      await carrier.resume();
      await untilThrough(here, elsewhere);
      expect(elsewhere.received.resumed).toBeGreaterThan(1);
    });

    it("leaves no connection and no timer when it is closed", async () => {
      const clock = new CountedClock();
      const open = await node([SESSION], { clock });
      expect(await carrier.connections()).toBeGreaterThan(0);
      open.bus.publish(SESSION, eventsNotification(1));
      await open.bus.close();
      await open.bus.close();
      expect(clock.timers).toBe(0);
      while ((await carrier.connections()) > 0);
      open.bus.publish(SESSION, eventsNotification(2));
      open.bus.notifyWork();
      expect(open.received.notifications).toEqual([]);
    });

    it("sends notifications published just before it is closed", async () => {
      const [here, elsewhere] = await Promise.all([node(), node([SESSION])]);
      here.bus.publish(SESSION, eventsNotification(1));
      await here.bus.close();
      await elsewhere.received.until(({ notifications }) => notifications.length >= 1);
      expect(elsewhere.received.notifications[0]).toMatchObject({ notification: eventsNotification(1) });
    });

    it("closes while its server is down", async () => {
      const clock = new CountedClock();
      const open = await node([SESSION], { clock });
      await carrier.halt();
      open.bus.publish(SESSION, eventsNotification(1));
      await open.bus.close();
      expect(clock.timers).toBe(0);
      await carrier.resume();
    });
  });
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The system clock, with a count of its pending timers. */
class CountedClock implements Clock {
  readonly #clock = createSystemClock();
  timers = 0;
  now = (): number => this.#clock.now();
  monotonic = (): number => this.#clock.monotonic();
  after: Clock["after"] = (ms, callback) => {
    const end = this.#begin();
    const timer = this.#clock.after(ms, () => {
      end();
      callback();
    });
    return { stop: () => (timer.stop(), end()) };
  };
  every: Clock["every"] = (ms, callback) => {
    const end = this.#begin();
    const timer = this.#clock.every(ms, callback);
    return { stop: () => (timer.stop(), end()) };
  };
  sleep: Clock["sleep"] = (ms, signal) => this.#clock.sleep(ms, signal).finally(this.#begin());

  #begin(): () => void {
    this.timers += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.timers -= 1;
      isOver = true;
    };
  }
}
