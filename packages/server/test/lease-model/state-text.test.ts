import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { INITIAL, type NodeState, type State } from "./state.ts";
import { decode, encode, packDatabase } from "./state-text.ts";

const owner = fc.constantFrom("A", "B", "gone");
const node: fc.Arbitrary<NodeState> = fc.record({
  isPaused: fc.boolean(),
  run: fc.option(
    fc.record({ isOld: fc.boolean(), held: fc.integer({ min: -1, max: 6 }), steps: fc.nat({ max: 2 }) }),
  ),
  claim: fc.option(fc.record({ age: fc.nat({ max: 7 }), isOld: fc.boolean(), steps: fc.nat({ max: 2 }) })),
  renewal: fc.option(fc.nat({ max: 7 })),
  isWritten: fc.boolean(),
});
const state: fc.Arbitrary<State> = fc.record({
  database: fc.record({
    turn: fc.constantFrom("queued", "running", "ended"),
    runnable: fc.boolean(),
    attempts: fc.nat({ max: 4 }),
    steps: fc.nat({ max: 2 }),
    lease: fc.option(fc.record({ owner, left: fc.nat({ max: 5 }) })),
    claimant: fc.option(owner),
  }),
  nodes: fc.record({ A: node, B: node }),
  orphans: fc.array(
    fc.record({ kind: fc.constantFrom("step", "complete"), node: owner, isOld: fc.boolean() }),
    { maxLength: 1 },
  ),
});

describe("encode", () => {
  it("is lossless: the state can be decoded again", () => {
    const readAgain = fc.property(state, (one) => {
      expect(decode(encode(one))).toEqual(one);
    });
    fc.assert(readAgain, { numRuns: 500 });
  });

  it("ignores the order of in-flight writes", () => {
    const [one, other] = [
      { kind: "step", node: "A", isOld: true },
      { kind: "complete", node: "gone", isOld: false },
    ] as const;
    const texts = [
      [one, other],
      [other, one],
      [one, one],
    ].map((orphans) => encode({ ...INITIAL, orphans }));
    expect(texts[1]).toBe(texts[0]);
    expect(texts[2]).not.toBe(texts[0]);
  });

  it("throws for a number that is too large, rather than encode two states alike", () => {
    expect(() => packDatabase({ ...INITIAL.database, attempts: 8 })).toThrow("8 needs more than 3 bits");
  });
});
