// The contract of the event hub within one process, without other nodes and over the buses to them.

import { afterEach, describe, expect, it } from "../harness.ts";
import type { EventHub } from "@colloquy/engine/internal/core/ports/driven/event-hub";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { delta, eventsNotification, RecordingListener } from "./recording-listener.ts";

const DELETED = { kind: "deleted", incarnation: "a" } as const;

/** `open` returns a hub with this logger. Closing it closes everything else that `open` opened. */
export function describeHub(name: string, open: (logger: Logger) => EventHub): void {
  describe(`event hub within one process: ${name}`, () => {
    const hubs: EventHub[] = [];
    afterEach(() => Promise.all(hubs.splice(0).map((hub) => hub.close())));

    function hubAndErrors() {
      const errors: object[] = [];
      const hub = open({
        debug() {},
        info() {},
        warn() {},
        error: (fields: object) => void errors.push(fields),
      });
      hubs.push(hub);
      return { hub, errors };
    }

    it("calls every listener before publish returns, and none that was removed", () => {
      const { hub } = hubAndErrors();
      const received: string[] = [];
      const stop = hub.listen({
        onNotification: (id, { kind }, origin) => received.push(`first ${id} ${kind} ${origin}`),
      });
      hub.listen({ onNotification: (id, { kind }) => received.push(`second ${id} ${kind}`) });
      hub.publish("x", DELETED);
      stop();
      hub.publish("y", DELETED);
      expect(received).toEqual(["first x deleted here", "second x deleted", "second y deleted"]);
    });

    it("delivers every notification unchanged and in order, whether its session is followed or not", async () => {
      const { hub } = hubAndErrors();
      const received = new RecordingListener(hub);
      const following = hub.follow("x");
      await following.ready;
      const notifications = [
        eventsNotification(1, "x".repeat(20_000)),
        delta(0, "one"),
        delta(3, "two"),
        DELETED,
      ];
      for (const notification of notifications) {
        hub.publish("x", notification);
        hub.publish("y", notification);
      }
      following.stop();
      hub.publish("x", DELETED);
      expect(
        received.notifications
          .filter(({ sessionId }) => sessionId === "x")
          .map(({ notification }) => notification),
      ).toEqual([...notifications, DELETED]);
      expect(received.notifications).toHaveLength(9);
    });

    it("does not notify its own process of work", () => {
      const { hub } = hubAndErrors();
      const received = new RecordingListener(hub);
      hub.notifyWork();
      expect(received.workNotices).toBe(0);
    });

    it("calls the other listeners and does not throw when one listener throws", () => {
      const { hub, errors } = hubAndErrors();
      let received = 0;
      hub.listen({
        onNotification: () => {
          throw new Error("broken");
        },
      });
      hub.listen({ onNotification: () => (received += 1) });
      hub.publish("x", DELETED);
      expect(received).toBe(1);
      expect(errors).toMatchObject([{ kind: "deleted" }]);
    });

    it("still notifies its own process after it was closed, and rejects nothing", async () => {
      const { hub } = hubAndErrors();
      const received = new RecordingListener(hub);
      await Promise.all([hub.close(), hub.close()]);
      hub.publish("x", DELETED);
      hub.notifyWork();
      const following = hub.follow("x");
      await following.ready;
      following.stop();
      expect(received.notifications).toHaveLength(1);
    });
  });
}
