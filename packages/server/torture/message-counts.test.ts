import { describe, expect, it } from "vitest";
import { countMessages, tooFewAcknowledged } from "./message-counts.ts";

const tally = (acknowledged: number) => ({ asked: 100, acknowledged });
const ENOUGH = {
  ...countMessages(),
  withKey: tally(90),
  firstTriesAtWhole: tally(90),
  firstTries: tally(50),
};

describe("the share of acknowledged messages", () => {
  it("is sufficient from its minimum on", () => {
    expect(tooFewAcknowledged(ENOUGH)).toEqual([]);
  });

  it.each([
    ["withKey", 89, "At least 90 % of repeated messages must be acknowledged: 89.00 % were."],
    [
      "firstTriesAtWhole",
      89,
      "At least 90 % of first attempts at a node without a fault must be acknowledged: 89.00 % were.",
    ],
    ["firstTries", 49, "At least 50 % of all first attempts must be acknowledged: 49.00 % were."],
  ])("is insufficient below it: %s", (name, acknowledged, line) => {
    expect(tooFewAcknowledged({ ...ENOUGH, [name]: tally(acknowledged) })).toEqual([line]);
  });

  it("is insufficient if nothing was sent", () => {
    expect(tooFewAcknowledged(countMessages())).toHaveLength(3);
    expect(tooFewAcknowledged(countMessages())[0]).toContain("none was sent");
  });
});
