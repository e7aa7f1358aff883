import { IDEMPOTENCY_KEPT_MS } from "../core/commands/chat.ts";
import type { JobStore } from "../core/ports/driven/store.ts";
import { type SummaryRow, type TitleRow, toSummaryJob, toTitleJob } from "./rows.ts";
import { change, inList, look, prepare, type SharedPort, timeOrNow } from "./shared.ts";

// SKIP LOCKED: another node is claiming the job. CROSS JOIN keeps SQLite from scanning all messages first.
const due = prepare<[number, number], TitleRow>(
  (on) => `SELECT s.key, s.id, s.life, s.app, s.utility_model, m.content AS text, m.turn
   FROM title_jobs j
   ${on.sqlite("CROSS")} JOIN sessions s ON s.key = j.session_key
   ${on.sqlite("CROSS")} JOIN messages m ON m.session_key = j.session_key AND m.position = 1
   WHERE j.due_at <= $1 ORDER BY j.due_at LIMIT $2 ${on.postgres("FOR UPDATE OF j SKIP LOCKED")}`,
);
const lend = prepare<[number, readonly number[]]>(
  (on) => `UPDATE title_jobs SET due_at = $1 WHERE session_key ${inList(on, "$2", "bigint")}`,
);
const dueSummaries = prepare<[number, number], SummaryRow>(
  (on) => `SELECT s.key, s.id, s.life, s.app, s.model, s.utility_model, j.attempts, j.budget
   FROM summary_jobs j ${on.sqlite("CROSS")} JOIN sessions s ON s.key = j.session_key
   WHERE j.due_at <= $1 ORDER BY j.due_at LIMIT $2 ${on.postgres("FOR UPDATE OF j SKIP LOCKED")}`,
);
const lendSummaries = prepare<[number, readonly number[]]>(
  (on) =>
    `UPDATE summary_jobs SET due_at = $1, attempts = attempts + 1 WHERE session_key ${inList(on, "$2", "bigint")}`,
);
const deferSummary = prepare<[number, number, number, number]>(
  "UPDATE summary_jobs SET due_at = $1, attempts = $2 WHERE session_key = $3 AND attempts = $4",
);
const removeSummary = prepare<[number, number]>(
  "DELETE FROM summary_jobs WHERE session_key = $1 AND attempts = $2",
);
const used = prepare<[string, string, number, number | null], { readonly used: number }>(
  (on) => `SELECT 1 AS used FROM sessions s JOIN idempotency_keys k ON k.session_key = s.key
   WHERE s.id = $1 AND k.key = $2 AND k.at > ${timeOrNow("$4", on)} - $3::bigint`,
);
const forget = prepare<[number, number]>(
  (on) => `DELETE FROM idempotency_keys WHERE (session_key, key) IN
     (SELECT session_key, key FROM idempotency_keys WHERE at <= $1 ORDER BY at LIMIT $2 ${on.postgres("FOR UPDATE SKIP LOCKED")})`,
);
const deleted = prepare<[string, number | null], { readonly found: number }>(
  (on) => `SELECT 1 AS found FROM deleted_sessions WHERE id = $1 AND until > ${timeOrNow("$2", on)}`,
);
const forgetDeleted = prepare<[number, number]>(
  (on) => `DELETE FROM deleted_sessions WHERE id IN
     (SELECT id FROM deleted_sessions WHERE until <= $1 ORDER BY until LIMIT $2 ${on.postgres("FOR UPDATE SKIP LOCKED")})`,
);
const takeDuty = prepare<[string, number, number]>(
  `INSERT INTO duties AS d (name, due_at) VALUES ($1, $2)
   ON CONFLICT (name) DO UPDATE SET due_at = $2 WHERE d.due_at <= $3`,
);

export const jobs: SharedPort<JobStore> = {
  claimTitles: change("titles", function* (at, limit, leaseMs) {
    const rows = yield* due.all(at, limit);
    const keys = rows.map(({ key }) => key);
    if (keys.length > 0) yield* lend.run(at + leaseMs, keys);
    return rows.map(toTitleJob);
  }),
  claimSummaries: change("summaries", function* (at, limit, leaseMs) {
    const rows = yield* dueSummaries.all(at, limit);
    const keys = rows.map(({ key }) => key);
    if (keys.length > 0) yield* lendSummaries.run(at + leaseMs, keys);
    return rows.map(toSummaryJob);
  }),
  endSummary: change("summaries", function* (at, { sessionKey, attempts }, next) {
    if (next === null) yield* removeSummary.run(sessionKey, attempts);
    else yield* deferSummary.run(at + next.dueInMs, next.attempts, sessionKey, attempts);
  }),
  isKeyUsed: look("used keys", function* (at, sessionId, key) {
    return (yield* used.get(sessionId, key, IDEMPOTENCY_KEPT_MS, at)) !== undefined;
  }),
  forgetIdempotencyKeys: change("idempotency keys", (at, limit) =>
    forget.run(at - IDEMPOTENCY_KEPT_MS, limit),
  ),
  wasDeleted: look("deleted sessions", function* (at, sessionId) {
    return (yield* deleted.get(sessionId, at)) !== undefined;
  }),
  forgetDeletedSessions: change("deleted sessions", (at, limit) => forgetDeleted.run(at, limit)),
  takeDuty: change("duties", function* (at, name, heldMs) {
    return (yield* takeDuty.run(name, at + heldMs, at)) > 0 ? at : null;
  }),
};
