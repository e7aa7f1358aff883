// What the bus promises within one process, alone or among others.

import { afterEach, describe, expect, it } from "vitest";
import type { Bus } from "../core/ports/bus.ts";
import type { Logger } from "../core/ports/logger.ts";
import { delta, eventsNote, Hearing } from "./hearing.suite.ts";

const DELETED = { kind: "deleted", life: "a" } as const;

/** `open` answers a bus that logs there; whatever else it opens goes when the bus is closed. */
export function describeBus(name: string, open: (logger: Logger) => Bus): void {
  describe(`the bus of one process: ${name}`, () => {
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

    it("has told every listener when a publish returns, and tells one that stopped nothing more", () => {
      const { bus } = busAndErrors();
      const heard: string[] = [];
      const stop = bus.listen({
        onNote: (id, { kind }, origin) => heard.push(`first ${id} ${kind} ${origin}`),
      });
      bus.listen({ onNote: (id, { kind }) => heard.push(`second ${id} ${kind}`) });
      bus.publish("x", DELETED);
      stop();
      bus.publish("y", DELETED);
      expect(heard).toEqual(["first x deleted here", "second x deleted", "second y deleted"]);
    });

    it("brings every note as it is, in order, whether its session is followed or not", async () => {
      const { bus } = busAndErrors();
      const hearing = new Hearing(bus);
      const following = bus.follow("x");
      await following.ready;
      const notes = [eventsNote(1, "x".repeat(20_000)), delta(0, "one"), delta(3, "two"), DELETED];
      for (const note of notes) {
        bus.publish("x", note);
        bus.publish("y", note);
      }
      following.stop();
      bus.publish("x", DELETED);
      expect(hearing.notes.filter(({ sessionId }) => sessionId === "x").map(({ note }) => note)).toEqual([
        ...notes,
        DELETED,
      ]);
      expect(hearing.notes).toHaveLength(9);
    });

    it("rings at other processes alone", () => {
      const { bus } = busAndErrors();
      const hearing = new Hearing(bus);
      bus.ring();
      expect(hearing.rings).toBe(0);
    });

    it("lets no listener that fails fail the others, or the one who announces", () => {
      const { bus, errors } = busAndErrors();
      let heard = 0;
      bus.listen({
        onNote: () => {
          throw new Error("broken");
        },
      });
      bus.listen({ onNote: () => (heard += 1) });
      bus.publish("x", DELETED);
      expect(heard).toBe(1);
      expect(errors).toMatchObject([{ kind: "deleted" }]);
    });

    it("still tells this process when it is closed, and fails nobody", async () => {
      const { bus } = busAndErrors();
      const hearing = new Hearing(bus);
      await Promise.all([bus.close(), bus.close()]);
      bus.publish("x", DELETED);
      bus.ring();
      const following = bus.follow("x");
      await following.ready;
      following.stop();
      expect(hearing.notes).toHaveLength(1);
    });
  });
}
