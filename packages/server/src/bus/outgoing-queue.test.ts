import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionNote } from "../core/ports/driven/bus.ts";
import { delta, eventsNote } from "./testing/recording-listener.ts";
import { OutgoingQueue } from "./outgoing-queue.ts";

const DELETED: SessionNote = { kind: "deleted", life: "a" };

function queue(maxBytes = 1_000_000) {
  const losses: [string, number][] = [];
  const notes = new OutgoingQueue({ maxBytes, onLoss: (loss, count) => losses.push([loss, count]) });
  const taken = (batchBytes = Number.POSITIVE_INFINITY): [string | null, SessionNote][] =>
    notes
      .take(batchBytes, 100_000)
      .map(({ sessionId, text }) => [sessionId, JSON.parse(text) as SessionNote]);
  return { notes, losses, taken };
}

describe("OutgoingQueue", () => {
  it("joins consecutive deltas of a session across other sessions' notifications", () => {
    const { notes, taken } = queue();
    notes.add("x", delta(0, "one "));
    notes.add("y", eventsNote(1));
    notes.add("x", delta(4, "two "));
    notes.add("x", delta(8, "three"));
    expect(taken()).toEqual([
      ["x", delta(0, "one two three")],
      ["y", eventsNote(1)],
    ]);
    expect(notes.isEmpty).toBe(true);
    expect(notes.bytes).toBe(0);
  });

  it.each<[string, SessionNote, SessionNote]>([
    ["has a gap", delta(0, "one"), delta(4, "two")],
    ["is another message's", delta(0, "one"), { ...delta(3, "two"), messageId: "n" }],
    ["is another run's", delta(0, "one"), { ...delta(3, "two"), epoch: 2 }],
    ["is of another life", delta(0, "one"), { ...delta(3, "two"), life: "b" }],
    ["is no delta", delta(0, "one"), eventsNote(3)],
  ])("keep apart what %s", (_, first, second) => {
    const { notes, taken } = queue();
    notes.add("x", first);
    notes.add("x", second);
    expect(taken()).toEqual([
      ["x", first],
      ["x", second],
    ]);
  });

  it("does not join a delta to one that was taken", () => {
    const { notes, taken } = queue();
    notes.add("x", delta(0, "one"));
    expect(taken()).toEqual([["x", delta(0, "one")]]);
    notes.add("x", delta(3, "two"));
    expect(taken()).toEqual([["x", delta(3, "two")]]);
  });

  it("returns batches of bounded size, in order", () => {
    const { notes, taken } = queue();
    for (let number = 11; number <= 20; number += 1) notes.add("x", eventsNote(number));
    const size = notes.bytes / 10;
    expect(taken(size * 4)).toHaveLength(4);
    expect(taken(size * 4)[0]).toEqual(["x", eventsNote(15)]);
    expect(taken()).toEqual([
      ["x", eventsNote(19)],
      ["x", eventsNote(20)],
    ]);
  });

  it("drops deltas first when full", () => {
    const { notes, losses, taken } = queue(10_000);
    notes.add("x", eventsNote(1));
    notes.add("x", delta(0, "x".repeat(9000)));
    notes.add("x", eventsNote(2));
    notes.add("y", delta(0, "x".repeat(2000)));
    expect(losses).toEqual([["deltas", 2]]);
    expect(taken()).toEqual([
      ["x", eventsNote(1)],
      ["x", eventsNote(2)],
    ]);
  });

  it("then replaces events with one hint for each session", () => {
    const { notes, losses, taken } = queue(10_000);
    notes.add("x", DELETED);
    for (let number = 1; number <= 2; number += 1) notes.add("x", eventsNote(number, "x".repeat(3000)));
    notes.add("y", eventsNote(9, "x".repeat(3000)));
    expect(losses).toEqual([["events", 3]]);
    expect(taken()).toEqual([
      ["x", DELETED],
      ["x", { kind: "moved", life: "a", epoch: 1, head: 2 }],
      ["y", { kind: "moved", life: "a", epoch: 1, head: 9 }],
    ]);
  });

  it("then drops everything", () => {
    const { notes, losses, taken } = queue(10_000);
    let lost = 0;
    for (let number = 0; lost === 0; number += 1) {
      notes.add(`${number}`, DELETED);
      lost = losses.length;
    }
    expect(losses).toEqual([["all", Math.floor(10_000 / 200) + 1]]);
    expect(taken()).toEqual([]);
  });

  it("never exceeds its bound, and keeps the order within each session", () => {
    const session = fc.constantFrom("x", "y", "z");
    const anyNote = fc.oneof(
      fc.record({ session, deltaOf: fc.integer({ min: 1, max: 3000 }) }),
      fc.record({ session, eventOf: fc.integer({ min: 1, max: 3000 }) }),
    );
    const run = (all: readonly { session: string; deltaOf?: number; eventOf?: number }[]): void => {
      const { notes, taken } = queue(8000);
      let number = 0;
      for (const { session: id, deltaOf, eventOf = 0 } of all) {
        number += 1;
        notes.add(
          id,
          deltaOf === undefined
            ? eventsNote(number, "x".repeat(eventOf))
            : delta(number, "x".repeat(deltaOf)),
        );
        expect(notes.bytes).toBeLessThanOrEqual(8000);
      }
      const places = taken().map(([id, note]) => [id, placeOf(note)] as const);
      for (const id of ["x", "y", "z"]) {
        const own = places.filter(([of]) => of === id).map(([, place]) => place);
        expect(own).toEqual(own.toSorted((left, right) => left - right));
      }
      expect(notes.bytes).toBe(0);
    };
    fc.assert(fc.property(fc.array(anyNote, { maxLength: 60 }), run));
  });
});

function placeOf(note: SessionNote): number {
  if (note.kind === "events") return note.events[0]?.number ?? 0;
  if (note.kind === "moved") return note.head;
  return note.kind === "delta" ? note.offset : 0;
}
