// The final check of a session: wait until it is idle, then compare everything.

import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@colloquy/protocol";
import { CLAIM_MS } from "./call-ledger.ts";
import { compareFold } from "./fold.ts";
import { LOAN_MS } from "./office-rules.ts";
import { checkSettled } from "./oracles.ts";
import type { MessageRecord, SessionClient } from "./session-client.ts";
import type { Violations } from "./violations.ts";

/** Milliseconds that a stream may need to catch up. */
const CATCH_UP_MS = 20_000;

/** As `comeToRest`, and checks that the fold equals the snapshot. */
export async function settle(session: SessionClient, violations: Violations): Promise<Snapshot | null> {
  const snapshot = await comeToRest(session, violations);
  if (snapshot !== null) await compareStream(session, violations);
  return snapshot;
}

/**
 * Waits until the session is idle, and checks that all messages are answered and that stored messages equal
 * the snapshot. Returns the snapshot, `null` for a stuck session.
 */
export async function comeToRest(session: SessionClient, violations: Violations): Promise<Snapshot | null> {
  for (let mayCome = session.doubts; ; mayCome -= 1) {
    const idle = await waitUntilIdle(session);
    if (idle === null) {
      const detail = `without a change for ${session.context.stuckMs / 1000} s`;
      violations.add("stuck", session.id, "is_processing", detail);
      return null;
    }
    const records = await session.records();
    // A message of unknown outcome may arrive at any time.
    if (mayCome > 0 && records.length > idle.messages.length) continue;
    checkSettled(session.ledger, idle, violations);
    const { office } = session.context;
    office?.ledger.checkSettled(idle, office.effects());
    compareRecords(session, idle, records, violations);
    return idle;
  }
}

async function waitUntilIdle(session: SessionClient): Promise<Snapshot | null> {
  let last = "";
  let changedAt = performance.now();
  const { stuckMs, disturbedAt } = session.context;
  let patienceMs = stuckMs;
  while (performance.now() - Math.max(changedAt, disturbedAt()) < patienceMs) {
    const snapshot = await session.state();
    if (!snapshot.is_processing) return snapshot;
    const now = JSON.stringify(snapshot.messages.at(-1)) + snapshot.last_event_id;
    if (now !== last) [last, changedAt] = [now, performance.now()];
    await session.runCalls(snapshot, true);
    // A claim that was lost ends by itself, and so does a request that no approver decides.
    const waits = snapshot.pending_actions.map(({ kind }) => (kind === "approval" ? LOAN_MS : CLAIM_MS));
    patienceMs = stuckMs + Math.max(0, ...waits);
    await sleep(100);
  }
  return null;
}

function compareRecords(
  session: SessionClient,
  shown: Snapshot,
  records: readonly MessageRecord[],
  violations: Violations,
): void {
  const [stored, seen] = [
    records.map(({ id, role, content }) => `${id} ${role === "user" ? "user" : "agent"} ${content}`),
    shown.messages.map(({ id, sender, content }) => `${id} ${sender} ${content}`),
  ];
  for (const [at, line] of seen.entries()) {
    if (stored[at] === line) continue;
    const detail = `stored ${stored[at]?.slice(0, 200) ?? "nothing"}, shown ${line.slice(0, 200)}`;
    violations.add("lost", session.id, `record ${at + 1}`, detail);
  }
  if (stored.length > seen.length) {
    violations.add("doubled", session.id, "records", `${stored.length} stored, ${seen.length} shown`);
  }
}

/** A title may still arrive, so the snapshot is fetched again until both are at the same event. */
async function compareStream(session: SessionClient, violations: Violations): Promise<void> {
  const begun = performance.now();
  const mayWait = (): boolean =>
    performance.now() - Math.max(begun, session.context.disturbedAt()) < CATCH_UP_MS;
  let [snapshot, fold] = [await session.state(), await session.follower.reach("", 0)];
  while (fold?.last_event_id !== snapshot.last_event_id && mayWait()) {
    session.follower.leaveUnreachable();
    snapshot = await session.state();
    fold = await session.follower.reach(snapshot.last_event_id, 1000);
  }
  if (fold?.last_event_id !== snapshot.last_event_id) {
    const detail = `the stream is at ${fold?.last_event_id ?? "no event"} and does not move on; ${session.follower.place}`;
    violations.add("fold mismatch", session.id, `at ${snapshot.last_event_id}`, detail);
    return;
  }
  // The session is processing again if a message of unknown outcome has arrived.
  const differences = compareFold(fold, snapshot, snapshot.is_processing);
  if (differences.length === 0) return;
  violations.add("fold mismatch", session.id, `settled at ${fold.last_event_id}`, differences.join("; "));
}
