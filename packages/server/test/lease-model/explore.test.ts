import { describe, expect, it } from "vitest";
import { explore, type Model, type Move } from "./explore.ts";

/** A number that grows by 1 or 2 per move; 5 is the end. */
function counting(change: Partial<Model<number>> = {}): Model<number> {
  return {
    initial: 0,
    moves: (state) => [1, 2].filter((by) => state + by <= 5).map((by) => move(`+${by}`, state + by)),
    brokenIn: () => null,
    isEnd: (state) => state === 5,
    encode: String,
    decode: Number,
    ...change,
  };
}

function move(name: string, to: number, isFault = false): Move<number> {
  return { name, to, isFault, broken: null };
}

describe("explore", () => {
  it("visits every state once, by every move", () => {
    expect(explore(counting())).toEqual({ states: 6, moves: 9, broken: null, stuck: null });
  });

  it("finds a violating state by a shortest path", () => {
    const { broken } = explore(counting({ brokenIn: (state) => (state === 3 ? "no three" : null) }));
    expect(broken).toEqual({ what: "no three", path: ["+1", "+2"] });
  });

  it("finds a violating move", () => {
    const moves = (state: number): Move<number>[] => [
      { ...move("+1", state + 1), broken: state === 2 ? "no further" : null },
    ];
    expect(explore(counting({ moves })).broken).toEqual({ what: "no further", path: ["+1", "+1", "+1"] });
  });

  it("finds a state that only a fault leaves", () => {
    const moves = (state: number): Move<number>[] =>
      state === 4 ? [move("luck", 5, true)] : counting().moves(state).slice();
    expect(explore(counting({ moves })).stuck).toEqual({
      what: "the turn can never end",
      path: ["+2", "+2"],
    });
  });

  it("rejects a model with too many states", () => {
    expect(() => explore(counting(), 5)).toThrow("more than 5 states");
  });
});
