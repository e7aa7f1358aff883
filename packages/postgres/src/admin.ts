import type { AdminStore, UsePlace } from "@colloquy/engine/internal/core/ports/driven/admin-store";
import { appNames, BEFORE_ALL, listsOf, seenByKeys } from "@colloquy/engine/internal/store/admin";
import type { Calls } from "./calls.ts";
import { prepare, runOn } from "./statement.ts";

/** Selects the first sessions after a position, from each list by use of an App. */
const placesOf = (app: string, parameter: string) =>
  listsOf(app, parameter)
    .map(
      (condition) => `(SELECT s.used_at, s.key FROM sessions s
        WHERE ${condition} AND s.used_at <= $2::bigint AND (s.used_at < $2::bigint OR s.key < $3::bigint)
        ORDER BY s.used_at DESC, s.key DESC LIMIT $4::bigint)`,
    )
    .join(" UNION ALL ");
const newestPlaces = prepare<[readonly string[], number, number, number], Pick<UsePlace, "key">>(
  `SELECT key FROM (
     SELECT p.used_at, p.key FROM unnest($1::text[]) AS named (app)
       CROSS JOIN LATERAL (${placesOf("other", "named.app")}) AS p
       WHERE named.app <> 'default'
     UNION ALL SELECT d.used_at, d.key FROM (${placesOf("default", "")}) AS d
       WHERE 'default' = ANY ($1::text[])
   ) AS places ORDER BY used_at DESC, key DESC LIMIT $4::bigint`,
);

export function usedWith(calls: Calls): AdminStore["used"] {
  return ({ app, after, limit }) =>
    calls.read("admin", async (connection) => {
      const { usedAt, key } = after ?? BEFORE_ALL;
      const apps = app === null ? await runOn(connection, appNames()) : [app];
      const places = await newestPlaces.all(connection, apps, usedAt, key, limit);
      return await runOn(connection, seenByKeys(places.map((place) => place.key)));
    });
}
