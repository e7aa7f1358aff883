// `executeEach`: selects sessions, locks them with SKIP LOCKED, and decides a command for each, in one
// separate transaction.

import { setTimeout as sleep } from "node:timers/promises";
import { needsOf, sessionOf } from "@colloquy/engine/internal/core/commands/decide";
import type {
  SelectedOutcome,
  Selection,
  SessionCommand,
} from "@colloquy/engine/internal/core/commands/index";
import { claimCommand, type ClaimTurns } from "@colloquy/engine/internal/core/commands/claim-turn";
import { expireCommand, type ExpireActions } from "@colloquy/engine/internal/core/commands/expire-actions";
import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { dueSessions } from "@colloquy/engine/internal/store/actions";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { writeOf } from "./draft-writer.ts";
import { epochsOf } from "./group-commit.ts";
import { prepare, runOn } from "./statement.ts";
import { Transaction } from "./transaction.ts";

/**
 * Milliseconds after which a claim retries turns of locked sessions: longer than a commit, and short enough
 * not to delay the turns that were claimed first.
 */
const CLAIM_AGAIN_MS = 25;

/** `claimAgainMs`: milliseconds after which a claim retries turns of locked sessions. */
export function executeEachWith(calls: Calls, claimAgainMs = CLAIM_AGAIN_MS) {
  return async <S extends Selection>(selection: S): Promise<readonly Committed<SelectedOutcome<S>>[]> => {
    const changed =
      selection.kind === "claimTurns"
        ? claimTurns(calls, selection, claimAgainMs)
        : expireActions(calls, selection);
    return (await changed) as readonly Committed<SelectedOutcome<S>>[];
  };
}

type Changed = readonly Committed<unknown>[];

interface RunnableRow {
  readonly id: string;
  readonly session_key: number;
  readonly number: number;
}

const RUNNABLE = `SELECT s.id, t.session_key, t.number FROM turns t JOIN sessions s ON s.key = t.session_key
  WHERE t.runnable = 1 AND split_part(s.model, '/', 1) <> ALL($1::text[])`;
const LONGEST_WAITING = "ORDER BY t.enqueued_at, t.session_key, t.number LIMIT $2";
const lockRunnable = prepare<[readonly string[], number], RunnableRow>(
  `${RUNNABLE} ${LONGEST_WAITING} FOR UPDATE OF s SKIP LOCKED`,
);
const runnableBeside = prepare<[readonly string[], readonly number[]], RunnableRow>(
  `${RUNNABLE} AND t.session_key <> ALL($2::bigint[]) ORDER BY t.enqueued_at, t.session_key, t.number LIMIT 1`,
);

/**
 * Claims turns. Concurrent claims of other nodes skip each other's locks. A session may also be locked for
 * another reason, such as a rename, so the claim is retried once; the next poll, at most two seconds later,
 * claims the rest.
 */
async function claimTurns(calls: Calls, selection: ClaimTurns, againMs: number): Promise<Changed> {
  const { agentMessageIds, fullProviders } = selection;
  const claim = (ids: readonly string[]) =>
    calls.alone("claims", async (connection, at) => {
      const rows = await lockRunnable.all(connection, fullProviders, ids.length);
      const claims = rows.flatMap(({ id, number }, index) => {
        const agentMessageId = ids[index];
        return agentMessageId === undefined ? [] : [claimCommand(selection, id, number, agentMessageId)];
      });
      const claimed = await executeAll(connection, at, claims);
      const left = ids.length - rows.length;
      const keys = rows.map(({ session_key }) => session_key);
      const isHeld = left > 0 && (await runnableBeside.get(connection, fullProviders, keys)) !== undefined;
      return { claimed, left: isHeld ? left : 0 };
    });
  const { claimed, left } = await claim(agentMessageIds);
  if (left === 0) return claimed;
  await sleep(againMs);
  const further = claim(agentMessageIds.slice(agentMessageIds.length - left));
  // The first claim is committed, even if the second one fails.
  const held = claimed.length === 0 ? further : further.catch(() => ({ claimed: [] }));
  return [...claimed, ...(await held).claimed];
}

/** Expires due actions. Those of locked sessions are retried a second later. */
function expireActions(calls: Calls, { limit }: ExpireActions): Promise<Changed> {
  return calls.alone("actions", async (connection, at) => {
    const rows = await runOn(connection, dueSessions.all(at, limit));
    return await executeAll(
      connection,
      at,
      rows.map(({ id }) => expireCommand(id)),
    );
  });
}

/** Runs the commands and returns those that changed something. */
async function executeAll(
  connection: Connection,
  at: number,
  commands: readonly SessionCommand[],
): Promise<Changed> {
  if (commands.length === 0) return [];
  const sessions = new Map(commands.map((command) => [sessionOf(command), [needsOf(command)]]));
  const transaction = await Transaction.begin(connection, {
    sessions,
    patience: "passes over",
    epochs: epochsOf([...sessions.values()].flat()),
    births: new Set(),
  });
  const changed = commands.flatMap((command) => transaction.executeSelected(at, command) ?? []);
  await writeOf(transaction.changes)(connection);
  return changed;
}
