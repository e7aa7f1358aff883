import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byUse, type UsePlace } from "../../core/ports/driven/admin-store.ts";
import { newestPlaces, type ReadPlaces } from "./admin.ts";

const BEFORE_ALL: UsePlace = { usedAt: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

/** Creates lists of these places, and counts how many places are read. */
function listsOf(places: readonly (readonly UsePlace[])[]) {
  const read = { count: 0 };
  const lists = places.map((list): ReadPlaces => {
    const inOrder = list.toSorted(byUse);
    return (after, limit) => {
      const rows = inOrder.filter((place) => byUse(after, place) < 0).slice(0, limit);
      read.count += rows.length;
      return rows;
    };
  });
  return { lists, read };
}

describe("newestPlaces of many lists", () => {
  it("returns the start of the merged list", () => {
    const lists = fc.array(fc.array(fc.nat(50), { maxLength: 40 }), { maxLength: 8 });
    const limits = fc.integer({ min: 1, max: 60 });
    fc.assert(
      fc.property(lists, limits, fc.option(fc.nat(50), { nil: null }), (times, limit, from) => {
        let key = 0;
        const places = times.map((list) => list.map((usedAt) => ({ usedAt, key: (key += 1) })));
        const after = from === null ? BEFORE_ALL : { usedAt: from, key: 100 };
        const all = places.flat().toSorted(byUse);
        const behind = all.filter((place) => byUse(after, place) < 0);
        expect(newestPlaces(listsOf(places).lists, after, limit)).toEqual(behind.slice(0, limit));
      }),
    );
  });

  it.each([
    ["are all in one list", () => 0],
    ["take turns", (index: number) => index % 60],
  ])("reads few places beyond the limit if they %s", (_where, listOf) => {
    const places: UsePlace[][] = Array.from({ length: 60 }, () => []);
    for (let index = 0; index < 30_000; index += 1) {
      // Older places are spread over all lists.
      places[index < 500 ? listOf(index) : index % 60]!.push({ usedAt: 30_000 - index, key: index });
    }
    const { lists, read } = listsOf(places);
    expect(newestPlaces(lists, BEFORE_ALL, 500)).toHaveLength(500);
    expect(read.count).toBeLessThan(2 * 500 + 16 * 60);
  });
});
