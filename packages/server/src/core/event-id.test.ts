import { describe, expect, it } from "vitest";
import { formatEventId, parseEventId } from "./event-id.ts";

describe("an event id", () => {
  it("is read as it was written", () => {
    for (const n of [0, 1, 42, 999_999_999_999_999]) {
      expect(parseEventId(formatEventId("k3f9", n))).toEqual({ life: "k3f9", n });
    }
  });

  it.each([
    "",
    "0",
    "-1",
    "k3f9",
    "k3f9-",
    "k3f9-01",
    "k3f9--1",
    "k3f9-1.5",
    "K3F9-1",
    "a-b-1",
    "k3f9-1 ",
    " k-1",
  ])("is not any text: %j is none", (text) => expect(parseEventId(text)).toBeNull());

  it("is none when its number is beyond what can be counted exactly, or its life too long", () => {
    expect(parseEventId("a-9999999999999999")).toBeNull();
    expect(parseEventId(`${"a".repeat(33)}-1`)).toBeNull();
  });
});
