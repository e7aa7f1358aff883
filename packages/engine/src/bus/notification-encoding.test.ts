import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delta, eventsNotification } from "@colloquy/testing/internal/bus/recording-listener";
import { encodeNotification, parseNotification } from "./notification-encoding.ts";

const LIFE = { incarnation: "a", epoch: 1 };

function texts(notification: Parameters<typeof encodeNotification>[0], maxBytes: number): readonly string[] {
  return encodeNotification(notification, maxBytes, JSON.stringify(notification));
}

describe("encoded notification", () => {
  it("round-trips", () => {
    for (const notification of [
      eventsNotification(3),
      delta(7, "text"),
      { kind: "moved", ...LIFE, head: 9 } as const,
      { kind: "deleted", incarnation: "a" } as const,
    ]) {
      expect(texts(notification, 8000).map(parseNotification)).toEqual([notification]);
    }
  });

  it("splits a delta between characters into pieces that fit and join to the same text", () => {
    const text = fc.string({ unit: "binary", maxLength: 200 });
    const surrogates = fc.string({
      unit: fc.constantFrom("\ud83d", "\ude00", "a", '"', "\n", "\u0000", "é", "😀"),
    });
    const run = (written: string, offset: number, room: number): void => {
      const bare = JSON.stringify(delta(offset + written.length, ""));
      const maxBytes = Buffer.byteLength(bare) + room;
      let joined = "";
      for (const part of texts(delta(offset, written), maxBytes)) {
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(maxBytes);
        const notification = parseNotification(part);
        if (notification?.kind !== "delta") throw new Error("a delta was expected");
        expect(notification.offset).toBe(offset + joined.length);
        if (written.isWellFormed()) expect(notification.text.isWellFormed()).toBe(true);
        joined += notification.text;
      }
      expect(joined).toBe(written);
    };
    const offset = fc.nat({ max: 2_000_000 });
    // The longest encoding of a character takes 6 bytes.
    fc.assert(fc.property(fc.oneof(text, surrogates), offset, fc.integer({ min: 6, max: 60 }), run));
  });

  it("fills each piece: the next character would not have fitted", () => {
    const parts = texts(delta(0, "é".repeat(5000)), 1000);
    expect(parts.length).toBe(
      Math.ceil(10_000 / (1000 - Buffer.byteLength(JSON.stringify(delta(5000, ""))) - 1)),
    );
  });

  it("replaces events that do not fit with a hint, and nothing if there are none", () => {
    expect(texts(eventsNotification(12, "x".repeat(1000)), 500).map(parseNotification)).toEqual([
      { kind: "moved", ...LIFE, head: 12 },
    ]);
    expect(texts({ kind: "events", ...LIFE, events: [] }, 10)).toEqual([]);
  });

  it.each([
    "",
    "{",
    "null",
    "3",
    "[]",
    '{"kind":"later","incarnation":"a","epoch":1}',
    '{"kind":"events","incarnation":"a","events":[]}',
    '{"kind":"events","incarnation":"a","epoch":1,"events":{}}',
    '{"kind":"moved","incarnation":"a","epoch":1}',
    '{"kind":"deleted"}',
    '{"kind":"delta","incarnation":"a","epoch":1,"messageId":"m","offset":"0","text":"x"}',
  ])("parses as null: %s", (text) => {
    expect(parseNotification(text)).toBeNull();
  });
});
