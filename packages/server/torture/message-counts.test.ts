import { describe, expect, it } from "vitest";
import { countMessages, tooFewAcknowledged } from "./message-counts.ts";

const tally = (acknowledged: number) => ({ asked: 100, acknowledged });
const ENOUGH = {
  ...countMessages(),
  withKey: tally(90),
  firstTriesAtWhole: tally(90),
  firstTries: tally(50),
};

describe("the share of messages that nodes acknowledge", () => {
  it("is enough from its bound on", () => {
    expect(tooFewAcknowledged(ENOUGH)).toEqual([]);
  });

  it.each([
    ["withKey", 89, "Of messages that were repeated at least 90 % have to be acknowledged: 89.00 % were."],
    [
      "firstTriesAtWhole",
      89,
      "Of first tries that met a whole node at least 90 % have to be acknowledged: 89.00 % were.",
    ],
    ["firstTries", 49, "Of all first tries at least 50 % have to be acknowledged: 49.00 % were."],
  ])("is too small below it: %s", (name, acknowledged, line) => {
    expect(tooFewAcknowledged({ ...ENOUGH, [name]: tally(acknowledged) })).toEqual([line]);
  });

  it("is too small where nothing was sent", () => {
    expect(tooFewAcknowledged(countMessages())).toHaveLength(3);
    expect(tooFewAcknowledged(countMessages())[0]).toContain("none was sent");
  });
});
