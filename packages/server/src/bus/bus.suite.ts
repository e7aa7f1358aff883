// The bus contract within one process, for buses of a single process and of a cluster.

import { afterEach, describe, expect, it } from "vitest";
import type { Bus } from "../core/ports/driven/bus.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { delta, eventsNotification, RecordingListener } from "./testing/recording-listener.ts";

const DELETED = { kind: "deleted", life: "a" } as const;

/** `open` returns a bus with this logger. Closing the bus closes everything else that `open` opened. */
export function describeBus(name: string, open: (logger: Logger) => Bus): void {
  describe(`bus within one process: ${name}`, () => {
    const buses: Bus[] = [];
    afterEach(() => Promise.all(buses.splice(0).map((bus) => bus.close())));

    function busAndErrors() {
      const errors: object[] = [];
      const bus = open({
        debug() {},
        info() {},
        warn() {},
        error: (fields: object) => void errors.push(fields),
      });
      buses.push(bus);
      return { bus, errors };
    }

    it("calls every listener before publish returns, and none that was removed", () => {
      const { bus } = busAndErrors();
      const received: string[] = [];
      const stop = bus.listen({
        onNotification: (id, { kind }, origin) => received.push(`first ${id} ${kind} ${origin}`),
      });
      bus.listen({ onNotification: (id, { kind }) => received.push(`second ${id} ${kind}`) });
      bus.publish("x", DELETED);
      stop();
      bus.publish("y", DELETED);
      expect(received).toEqual(["first x deleted here", "second x deleted", "second y deleted"]);
    });

    it("delivers every notification unchanged and in order, whether its session is followed or not", async () => {
      const { bus } = busAndErrors();
      const received = new RecordingListener(bus);
      const following = bus.follow("x");
      await following.ready;
      const notifications = [
        eventsNotification(1, "x".repeat(20_000)),
        delta(0, "one"),
        delta(3, "two"),
        DELETED,
      ];
      for (const notification of notifications) {
        bus.publish("x", notification);
        bus.publish("y", notification);
      }
      following.stop();
      bus.publish("x", DELETED);
      expect(
        received.notifications
          .filter(({ sessionId }) => sessionId === "x")
          .map(({ notification }) => notification),
      ).toEqual([...notifications, DELETED]);
      expect(received.notifications).toHaveLength(9);
    });

    it("does not notify its own process of work", () => {
      const { bus } = busAndErrors();
      const received = new RecordingListener(bus);
      bus.notifyWork();
      expect(received.workNotices).toBe(0);
    });

    it("calls the other listeners and does not throw when one listener throws", () => {
      const { bus, errors } = busAndErrors();
      let received = 0;
      bus.listen({
        onNotification: () => {
          throw new Error("broken");
        },
      });
      bus.listen({ onNotification: () => (received += 1) });
      bus.publish("x", DELETED);
      expect(received).toBe(1);
      expect(errors).toMatchObject([{ kind: "deleted" }]);
    });

    it("still notifies its own process after it was closed, and rejects nothing", async () => {
      const { bus } = busAndErrors();
      const received = new RecordingListener(bus);
      await Promise.all([bus.close(), bus.close()]);
      bus.publish("x", DELETED);
      bus.notifyWork();
      const following = bus.follow("x");
      await following.ready;
      following.stop();
      expect(received.notifications).toHaveLength(1);
    });
  });
}
