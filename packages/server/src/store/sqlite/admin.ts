import type { AdminStore, UsePlace } from "../../core/ports/driven/admin-store.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { appNames, BEFORE_ALL, listsOf, seenByKeys } from "../admin.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare, RunWork } from "./database.ts";
import { newestPlaces, type ReadPlaces } from "./newest-places.ts";

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
