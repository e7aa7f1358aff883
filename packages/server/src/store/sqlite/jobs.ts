import { IDEMPOTENCY_KEPT_MS } from "../../core/commands/chat.ts";
import type { JobStore } from "../../core/ports/driven/store.ts";
import { type TitleRow, toTitleJob } from "../rows.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare } from "./database.ts";

export function prepareJobs(prepare: Prepare): Synchronous<JobStore> {
  const due = prepare<
    [number, number],
    TitleRow
  >(`SELECT s.key, s.id, s.life, s.app, s.utility_model, m.content AS text, m.turn
     FROM title_jobs j
     JOIN sessions s ON s.key = j.session_key
     JOIN messages m ON m.session_key = j.session_key AND m.position = 1
     WHERE j.due_at <= ? ORDER BY j.due_at LIMIT ?`);
  const lend = prepare<[number, number]>("UPDATE title_jobs SET due_at = ? WHERE session_key = ?");
  const used = prepare<
    [string, string, number],
    { readonly used: number }
  >(`SELECT 1 AS used FROM sessions s JOIN idempotency_keys k ON k.session_key = s.key
     WHERE s.id = ? AND k.key = ? AND k.at > ?`);
  const forget = prepare<[number, number]>(`DELETE FROM idempotency_keys WHERE (session_key, key) IN
       (SELECT session_key, key FROM idempotency_keys WHERE at <= ? ORDER BY at LIMIT ?)`);
  const takeDuty = prepare<[string, number, number]>(
    `INSERT INTO duties (name, due_at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET due_at = ?2 WHERE due_at <= ?3`,
  );
  return {
    claimTitles: (at, limit, leaseMs) =>
      due.all(at, limit).map((row) => {
        lend.run(at + leaseMs, row.key);
        return toTitleJob(row);
      }),
    isKeyUsed: (at, sessionId, key) => used.get(sessionId, key, at - IDEMPOTENCY_KEPT_MS) !== undefined,
    forgetIdempotencyKeys: (at, limit) => forget.run(at - IDEMPOTENCY_KEPT_MS, limit),
    takeDuty: (at, name, heldMs) => (takeDuty.run(name, at + heldMs, at) > 0 ? at : null),
  };
}
