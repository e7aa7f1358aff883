import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RunningTurns, type RunningTurn } from "./running-turns.ts";
import { startedTurn } from "./testing/started-turn.ts";

function running(turn: Parameters<typeof startedTurn>[0]): RunningTurn {
  return { turn: startedTurn(turn), controller: new AbortController(), heldUntil: 0 };
}

describe("slots", () => {
  it("are reserved while any is free", () => {
    const turns = new RunningTurns({ total: 3, byProvider: {} });
    expect(turns.reserve(2)).toBe(2);
    expect(turns.reserve(5)).toBe(1);
    expect(turns.reserve(1)).toBe(0);
    turns.unreserve(2);
    expect(turns.free).toBe(2);
  });

  it("are taken by a turn until it is removed", () => {
    const turns = new RunningTurns({ total: 1, byProvider: {} });
    turns.reserve(1);
    const turn = running({ epoch: 1 });
    turns.add(turn);
    expect([turns.size, turns.free]).toEqual([1, 0]);
    turns.remove(turn);
    expect([turns.size, turns.free]).toEqual([0, 1]);
  });

  it("are found by session: the later turn while an earlier one is ending", () => {
    const turns = new RunningTurns({ total: 9, byProvider: {} });
    const [early, late] = [running({ epoch: 1 }), running({ epoch: 2 })];
    turns.reserve(2);
    turns.add(early);
    turns.add(late);
    expect(turns.ofSession(1)).toBe(late);
    turns.remove(early);
    expect(turns.ofSession(1)).toBe(late);
    turns.remove(late);
    expect(turns.ofSession(1)).toBeNull();
  });

  it("count against every provider while they are only reserved", () => {
    const turns = new RunningTurns({ total: 9, byProvider: { slow: 2 } });
    turns.reserve(1);
    expect(turns.fullProviders()).toEqual([]);
    turns.reserve(1);
    expect(turns.fullProviders()).toEqual([]);
    turns.reserve(1);
    expect(turns.fullProviders()).toEqual(["slow"]);
    turns.unreserve(1);
    turns.add(running({ epoch: 1, model: "slow/m" }));
    expect(turns.fullProviders()).toEqual([]);
    turns.reserve(1);
    expect(turns.fullProviders()).toEqual(["slow"]);
  });

  it("never exceed the limits, however reservations, starts and ends interleave", () => {
    const step = fc.record({
      kind: fc.constantFrom("ask", "answer", "answer", "end"),
      provider: fc.constantFrom("a", "b", "c"),
      pick: fc.nat(20),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.record({ a: fc.integer({ min: 0, max: 3 }), b: fc.integer({ min: 1, max: 3 }) }),
        fc.array(step, { maxLength: 80 }),
        (total, limits, steps) => {
          const turns = new RunningTurns({ total, byProvider: limits });
          const asked: { readonly full: readonly string[] }[] = [];
          let epoch = 0;
          for (const { kind, provider, pick } of steps) {
            if (kind === "ask" && turns.reserve(1) === 1) asked.push({ full: turns.fullProviders() });
            if (kind === "answer" && asked.length > 0) {
              // The transaction starts no turn, or one on a provider that was not full at the request.
              const [{ full }] = asked.splice(pick % asked.length, 1) as [(typeof asked)[0]];
              if (full.includes(provider)) turns.unreserve(1);
              else turns.add(running({ epoch: (epoch += 1), sessionKey: epoch, model: `${provider}/m` }));
            }
            const all = turns.all();
            if (kind === "end" && all.length > 0) turns.remove(all[pick % all.length]!);
            const count = (name: string) =>
              turns.all().filter(({ turn }) => turn.model === `${name}/m`).length;
            expect(turns.size).toBeLessThanOrEqual(total);
            expect(count("a")).toBeLessThanOrEqual(limits.a);
            expect(count("b")).toBeLessThanOrEqual(limits.b);
          }
          turns.unreserve(asked.length);
          for (const turn of turns.all()) turns.remove(turn);
          expect(turns.free).toBe(total);
        },
      ),
      { numRuns: 500 },
    );
  });
});
