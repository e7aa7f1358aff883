import { type AdminStore, byUse, type UsePlace } from "../../core/ports/driven/admin-store.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { appNames, BEFORE_ALL, listsOf, seenByKeys } from "../admin.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare, RunWork } from "./database.ts";

const LEAST_READ = 16;

/** Reads the first `limit` positions after `after` in one list. */
export type ReadPlaces = (after: UsePlace, limit: number) => readonly UsePlace[];

/** Prepares the list of sessions by last use, which merges one sorted list per App. */
export function prepareUsed(prepare: Prepare, run: RunWork): Synchronous<AdminStore>["used"] {
  const listsBy = (app: string) =>
    listsOf(app, "?1").map((condition) =>
      prepare<[string, number, number, number], UsePlace>(`SELECT s.used_at AS usedAt, s.key FROM sessions s
         WHERE ${condition} AND s.used_at <= ?2 AND (s.used_at < ?2 OR s.key < ?3) AND ?1 IS NOT NULL
         ORDER BY s.used_at DESC, s.key DESC LIMIT ?4`),
    );
  const [ofDefault, ofOther] = [listsBy(DEFAULT_APP), listsBy("other")];
  return (_at, { app, after, limit }) => {
    const lists = (app === null ? run(appNames()) : [app]).flatMap((name) =>
      (name === DEFAULT_APP ? ofDefault : ofOther).map(
        (list): ReadPlaces =>
          ({ usedAt, key }, most) =>
            list.all(name, usedAt, key, most),
      ),
    );
    return run(seenByKeys(newestPlaces(lists, after ?? BEFORE_ALL, limit).map(({ key }) => key)));
  };
}

/**
 * Returns the first `limit` positions after `after` over all lists. Reads in small portions, at most about twice as many
 * plus `LEAST_READ` per list, so that many lists cost little more than one.
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
