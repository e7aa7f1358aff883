import { IDEMPOTENCY_KEPT_MS } from "../../core/commands/chat.ts";
import type { JobStore } from "../../core/ports/driven/store.ts";
import { toTitleJob, type TitleRow } from "../rows.ts";
import type { Calls } from "./calls.ts";
import { prepare } from "./statement.ts";

// SKIP LOCKED: another node is taking the job.
const due = prepare<[number, number], TitleRow>(
  `SELECT s.key, s.id, s.life, s.app, s.utility_model, m.content AS text, m.turn
   FROM title_jobs j
   JOIN sessions s ON s.key = j.session_key
   JOIN messages m ON m.session_key = j.session_key AND m.position = 1
   WHERE j.due_at <= $1 ORDER BY j.due_at LIMIT $2 FOR UPDATE OF j SKIP LOCKED`,
);
const lend = prepare<[number, readonly number[]]>(
  "UPDATE title_jobs SET due_at = $1 WHERE session_key = ANY($2::bigint[])",
);
const used = prepare<[string, string, number, number | null], { readonly used: number }>(
  `SELECT 1 AS used FROM sessions s JOIN idempotency_keys k ON k.session_key = s.key
   WHERE s.id = $1 AND k.key = $2 AND k.at > coalesce($4::bigint, floor(extract(epoch FROM now()) * 1000)::bigint) - $3::bigint`,
);
const forget = prepare<[number, number]>(
  `DELETE FROM idempotency_keys WHERE (session_key, key) IN
     (SELECT session_key, key FROM idempotency_keys WHERE at <= $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
);
const takeDuty = prepare<[string, number, number]>(
  `INSERT INTO duties AS d (name, due_at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET due_at = $2 WHERE d.due_at <= $3`,
);

export function jobsOf(calls: Calls): JobStore {
  return {
    claimTitles: (limit, leaseMs) =>
      calls.alone("titles", async (connection, at) => {
        const rows = await due.all(connection, at, limit);
        if (rows.length > 0)
          await lend.run(
            connection,
            at + leaseMs,
            rows.map(({ key }) => key),
          );
        return rows.map(toTitleJob);
      }),
    isKeyUsed: (sessionId, key) =>
      calls.look(null, async (connection, at) => {
        const row = await used.get(connection, sessionId, key, IDEMPOTENCY_KEPT_MS, at);
        return row !== undefined;
      }),
    forgetIdempotencyKeys: (limit) =>
      calls.alone("idempotency keys", (connection, at) =>
        forget.run(connection, at - IDEMPOTENCY_KEPT_MS, limit),
      ),
    takeDuty: (name, heldMs) =>
      calls.alone("duties", async (connection, at) =>
        (await takeDuty.run(connection, name, at + heldMs, at)) > 0 ? at : null,
      ),
  };
}
