import type { SessionStore } from "../../core/ports/driven/session-store.ts";
import { COUNT_SIZES } from "../pages.ts";
import type { Calls } from "./calls.ts";
import { prepare } from "./statement.ts";

// SKIP LOCKED: never wait for a session that is in use; the next cleanup finds it again.
const lockUncounted = prepare<[number, number], { readonly key: number }>(
  `SELECT key FROM sessions WHERE message_bytes IS NULL AND key > $1 ORDER BY key LIMIT $2 FOR UPDATE SKIP LOCKED`,
);
// A statement of its own, which sees everything that was committed before the locks were taken.
const countSizes = prepare<[readonly number[]]>(`${COUNT_SIZES} = ANY($1::bigint[])`);

export function countSizesWith(calls: Calls): SessionStore["countSizes"] {
  // The last counted key: the index keeps entries of counted sessions until a vacuum, which no call may read again.
  let position = 0;
  return async (limit) => {
    const keys = await calls.alone("sizes", async (connection) => {
      const rows = await lockUncounted.all(connection, position, limit);
      const keys = rows.map(({ key }) => key);
      if (keys.length > 0) await countSizes.run(connection, keys);
      return keys;
    });
    position = keys.length < limit ? 0 : (keys.at(-1) ?? 0);
    return keys.length;
  };
}
