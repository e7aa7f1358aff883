import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import { delta, eventsNotification } from "@colloquy/testing/internal/bus/recording-listener";
import { OutgoingQueue } from "./outgoing-queue.ts";

const DELETED: SessionNotification = { kind: "deleted", incarnation: "a" };

function queue(maxBytes = 1_000_000) {
  const losses: [string, number][] = [];
  const notifications = new OutgoingQueue({ maxBytes, onLoss: (loss, count) => losses.push([loss, count]) });
  const taken = (batchBytes = Number.POSITIVE_INFINITY): [string | null, SessionNotification][] =>
    notifications
      .take(batchBytes, 100_000)
      .map(({ sessionId, text }) => [sessionId, JSON.parse(text) as SessionNotification]);
  return { notifications, losses, taken };
}

describe("OutgoingQueue", () => {
  it("joins consecutive deltas of a session across other sessions' notifications", () => {
    const { notifications, taken } = queue();
    notifications.add("x", delta(0, "one "));
    notifications.add("y", eventsNotification(1));
    notifications.add("x", delta(4, "two "));
    notifications.add("x", delta(8, "three"));
    expect(taken()).toEqual([
      ["x", delta(0, "one two three")],
      ["y", eventsNotification(1)],
    ]);
    expect(notifications.isEmpty).toBe(true);
    expect(notifications.bytes).toBe(0);
  });

  it.each<[string, SessionNotification, SessionNotification]>([
    ["has a gap", delta(0, "one"), delta(4, "two")],
    ["is another message's", delta(0, "one"), { ...delta(3, "two"), messageId: "n" }],
    ["is another run's", delta(0, "one"), { ...delta(3, "two"), epoch: 2 }],
    ["is of another incarnation", delta(0, "one"), { ...delta(3, "two"), incarnation: "b" }],
    ["is no delta", delta(0, "one"), eventsNotification(3)],
  ])("keep apart what %s", (_, first, second) => {
    const { notifications, taken } = queue();
    notifications.add("x", first);
    notifications.add("x", second);
    expect(taken()).toEqual([
      ["x", first],
      ["x", second],
    ]);
  });

  it("does not join a delta to one that was taken", () => {
    const { notifications, taken } = queue();
    notifications.add("x", delta(0, "one"));
    expect(taken()).toEqual([["x", delta(0, "one")]]);
    notifications.add("x", delta(3, "two"));
    expect(taken()).toEqual([["x", delta(3, "two")]]);
  });

  it("returns batches of bounded size, in order", () => {
    const { notifications, taken } = queue();
    for (let number = 11; number <= 20; number += 1) notifications.add("x", eventsNotification(number));
    const size = notifications.bytes / 10;
    expect(taken(size * 4)).toHaveLength(4);
    expect(taken(size * 4)[0]).toEqual(["x", eventsNotification(15)]);
    expect(taken()).toEqual([
      ["x", eventsNotification(19)],
      ["x", eventsNotification(20)],
    ]);
  });

  it("drops deltas first when full", () => {
    const { notifications, losses, taken } = queue(10_000);
    notifications.add("x", eventsNotification(1));
    notifications.add("x", delta(0, "x".repeat(9000)));
    notifications.add("x", eventsNotification(2));
    notifications.add("y", delta(0, "x".repeat(2000)));
    expect(losses).toEqual([["deltas", 2]]);
    expect(taken()).toEqual([
      ["x", eventsNotification(1)],
      ["x", eventsNotification(2)],
    ]);
  });

  it("then replaces events with one hint for each session", () => {
    const { notifications, losses, taken } = queue(10_000);
    notifications.add("x", DELETED);
    for (let number = 1; number <= 2; number += 1)
      notifications.add("x", eventsNotification(number, "x".repeat(3000)));
    notifications.add("y", eventsNotification(9, "x".repeat(3000)));
    expect(losses).toEqual([["events", 3]]);
    expect(taken()).toEqual([
      ["x", DELETED],
      ["x", { kind: "moved", incarnation: "a", epoch: 1, head: 2 }],
      ["y", { kind: "moved", incarnation: "a", epoch: 1, head: 9 }],
    ]);
  });

  it("then drops everything", () => {
    const { notifications, losses, taken } = queue(10_000);
    let lost = 0;
    for (let number = 0; lost === 0; number += 1) {
      notifications.add(`${number}`, DELETED);
      lost = losses.length;
    }
    expect(losses).toEqual([["all", Math.floor(10_000 / 200) + 1]]);
    expect(taken()).toEqual([]);
  });

  it("never exceeds its bound, and keeps the order within each session", () => {
    const session = fc.constantFrom("x", "y", "z");
    const anyNotification = fc.oneof(
      fc.record({ session, deltaOf: fc.integer({ min: 1, max: 3000 }) }),
      fc.record({ session, eventOf: fc.integer({ min: 1, max: 3000 }) }),
    );
    const run = (all: readonly { session: string; deltaOf?: number; eventOf?: number }[]): void => {
      const { notifications, taken } = queue(8000);
      let number = 0;
      for (const { session: id, deltaOf, eventOf = 0 } of all) {
        number += 1;
        notifications.add(
          id,
          deltaOf === undefined
            ? eventsNotification(number, "x".repeat(eventOf))
            : delta(number, "x".repeat(deltaOf)),
        );
        expect(notifications.bytes).toBeLessThanOrEqual(8000);
      }
      const places = taken().map(([id, notification]) => [id, placeOf(notification)] as const);
      for (const id of ["x", "y", "z"]) {
        const own = places.filter(([of]) => of === id).map(([, place]) => place);
        expect(own).toEqual(own.toSorted((left, right) => left - right));
      }
      expect(notifications.bytes).toBe(0);
    };
    fc.assert(fc.property(fc.array(anyNotification, { maxLength: 60 }), run));
  });
});

function placeOf(notification: SessionNotification): number {
  if (notification.kind === "events") return notification.events[0]?.number ?? 0;
  if (notification.kind === "moved") return notification.head;
  return notification.kind === "delta" ? notification.offset : 0;
}
