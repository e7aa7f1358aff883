import { describe, expect, it } from "vitest";
import { answerFits, nextMessage } from "./conversation.ts";
import { createRandom } from "./harness/random.ts";

describe("messages", () => {
  it("are all different", () => {
    const random = createRandom(1);
    const messages = Array.from({ length: 500 }, (_, serial) => nextMessage(random, serial, 30));
    expect(new Set(messages).size).toBe(500);
  });
});

describe("answerFits", () => {
  it.each([
    ["count to 3 for message 7", "1 2 3", true],
    ["count to 3 for message 7", "1 2\n\n3", true],
    ["count to 3 for message 7", "1 2", false],
    ["count to 3 for message 7", "1 2 1 2 3", false],
    ["what is 1005 * 3?", "1005 * 3 = 3015.", true],
    ["what is 1005 * 3?", "1005 * 3 = 3016.", false],
    ['call look {"button":4}', "The tool look answered: it is red.", true],
    ['call look {"button":4}', "The tool press answered: it is red.", false],
    ["This is message 4.", 'You said: "This is message 4."', true],
    ["This is message 4.", 'You said: "This is message 5."', false],
  ])("returns whether an answer fits its message: %j, %j, %s", (message, answer, fits) => {
    expect(answerFits(message, answer)).toBe(fits);
  });
});
