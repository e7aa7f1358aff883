// Merges lists that are each in the order of use. Reads in small portions, so that many lists cost little
// more than one.

import { byUse, type UsePlace } from "../../core/ports/driven/admin-store.ts";

const LEAST_READ = 16;

/** Reads the first `limit` positions after `after` in one list. */
export type ReadPlaces = (after: UsePlace, limit: number) => readonly UsePlace[];

/**
 * Returns the first `limit` positions after `after` over all lists. Reads at most about twice as many, plus
 * `LEAST_READ` per list.
 */
export function newestPlaces(
  lists: readonly ReadPlaces[],
  after: UsePlace,
  limit: number,
): readonly UsePlace[] {
  const portion = Math.min(limit, Math.max(LEAST_READ, Math.ceil(limit / lists.length)));
  let heads = lists.flatMap((read) => {
    const places = placesOf(read, after, portion);
    const first = places.next();
    return first.done === true ? [] : [{ place: first.value, places }];
  });
  const found: UsePlace[] = [];
  while (found.length < limit && heads.length > 0) {
    const newest = heads.reduce((left, right) => (byUse(left.place, right.place) < 0 ? left : right));
    found.push(newest.place);
    const next = newest.places.next();
    if (next.done === true) heads = heads.filter((head) => head !== newest);
    else newest.place = next.value;
  }
  return found;
}

function* placesOf(read: ReadPlaces, after: UsePlace, portion: number): Generator<UsePlace, void> {
  let from: UsePlace | null = after;
  while (from !== null) {
    const places: readonly UsePlace[] = read(from, portion);
    yield* places;
    from = places.length < portion ? null : (places.at(-1) ?? null);
  }
}
