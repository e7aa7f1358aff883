// Observes the cluster during a run: sessions without progress, nodes that continue without leases, and, if
// the run ends at the first violation, forbidden writes.

import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresServer } from "../../test/postgres-server.ts";
import type { Violations } from "../violations.ts";
import { checkOwners, type WatchedNode } from "./owner-watch.ts";
import type { StallWatch, Work } from "./stall-watch.ts";
import { checkWrites } from "./write-audit.ts";

const LOOK_EVERY_MS = 500;

/** The next turn of each session, with everything that shows progress. A turn with a pending action need not make any. */
const WORK = `
  SELECT DISTINCT ON (t.session_key) t.session_key, o.writer AS owner, concat_ws('/', t.number, t.state, t.attempts, t.steps,
    CASE WHEN t.state = 'waiting' AND EXISTS (SELECT 1 FROM actions a WHERE a.session_key = t.session_key AND a.resolved_at IS NULL)
      THEN clock_timestamp() END, length(m.content), length(m.tool_calls), length(m.tool_results),
    (SELECT max("offset" + length(text)) FROM checkpoints c WHERE c.session_key = t.session_key AND c.turn = t.number)) AS mark
  FROM turns t
  LEFT JOIN messages m ON m.session_key = t.session_key AND m.position = t.agent_position
  LEFT JOIN leases l ON l.session_key = t.session_key
  LEFT JOIN torture_owners o ON o.owner = l.owner
  WHERE t.ended_at IS NULL ORDER BY t.session_key, t.number
`;

export interface WorkWatch {
  /** Includes whether each can work on turns now. */
  readonly nodes: readonly (WatchedNode & { readonly canWork: boolean })[];
  readonly postgres: PostgresServer;
  readonly database: string;
  readonly stalls: StallWatch;
  readonly violations: Violations;
  /** Whether the run ends with the first violation. */
  readonly untilFirstViolation: boolean;
}

/**
 * Observes until `stopping` is aborted. Never succeeding is a violation, because then nothing is verified.
 */
export async function watchWork(watch: WorkWatch, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    await checkOwners(watch.nodes, watch.violations);
    await look(watch).catch(() => watch.stalls.disturbAll(performance.now()));
    const due = performance.now() + LOOK_EVERY_MS;
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopping }).catch(() => undefined);
    const lateMs = performance.now() - due;
    if (lateMs > LOOK_EVERY_MS) watch.stalls.excuse(lateMs);
  }
  if (watch.stalls.looks === 0) watch.violations.add("stuck", "none", "watch", "no observation succeeded");
}

async function look({
  nodes,
  postgres,
  database,
  stalls,
  violations,
  untilFirstViolation,
}: WorkWatch): Promise<void> {
  const rows = await postgres.query(database, WORK);
  // No node could take over.
  if (!nodes.some(({ canWork }) => canWork)) stalls.disturbAll(performance.now());
  const works = rows.map(
    ({ session_key, mark, owner }): Work => ({
      sessionKey: Number(session_key),
      mark: String(mark),
      owner: typeof owner === "string" ? owner : null,
    }),
  );
  for (const { sessionKey, detail } of stalls.look(works, performance.now())) {
    violations.add("stuck", `session ${sessionKey}`, "its turn", detail);
  }
  if (untilFirstViolation) await checkWrites(postgres, database, violations);
}
