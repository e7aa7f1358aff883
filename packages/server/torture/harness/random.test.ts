import { parseSessionId } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { createRandom } from "./random.ts";

describe("random choices", () => {
  it("are the same for the same seed and different for another", () => {
    const draw = (seed: string) => {
      const random = createRandom(seed);
      return Array.from({ length: 20 }, () => random.integer(0, 1000));
    };
    expect(draw("1")).toEqual(draw("1"));
    expect(draw("1")).not.toEqual(draw("2"));
  });

  it("of a fork do not depend on earlier draws", () => {
    const drawn = createRandom(1);
    drawn.next();
    expect(drawn.fork("a").next()).toBe(createRandom(1).fork("a").next());
    expect(drawn.fork("a").next()).not.toBe(drawn.fork("b").next());
  });

  it("stay within their bounds and reach both", () => {
    const random = createRandom(3);
    const seen = new Set(Array.from({ length: 200 }, () => random.integer(2, 4)));
    expect(seen).toEqual(new Set([2, 3, 4]));
  });

  it("give session ids that the service accepts", () => {
    const random = createRandom(4);
    for (let round = 0; round < 50; round += 1) expect(parseSessionId(random.uuid())).not.toBeNull();
  });
});
