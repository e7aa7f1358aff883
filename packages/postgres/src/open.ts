// The store on PostgreSQL, shared by any number of nodes. It caches nothing, so each call sees all commits of
// other nodes.

import { join } from "node:path";
import { needsOf } from "@colloquy/engine/internal/core/commands/decide";
import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { CommandStore, Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { readMigrations } from "@colloquy/engine/internal/store/migrations";
import { CallQueue } from "./call-queue.ts";
import { usedWith } from "./admin.ts";
import { type Calls, sharedPortsOf } from "./calls.ts";
import {
  type ConnectionOptions,
  CONNECTIONS,
  Connections,
  LEASE_CONNECTIONS,
  lockMs,
  STATEMENT_MS,
} from "./connections.ts";
import { eventsOf } from "./events.ts";
import { migrate } from "./migrate.ts";
import { executeEachWith } from "./selections.ts";
import { checkPrimary } from "./server-check.ts";
import { checkSessions } from "./session-check.ts";
import { StandbyWait } from "./standby-wait.ts";
import { sessionsOf } from "./sessions.ts";
import { prepare } from "./statement.ts";
import { executeCopy, executeWithoutWriting } from "./transaction.ts";
import { turnsOf } from "./turns.ts";

export interface PostgresStoreOptions extends ConnectionOptions {
  /** `null`, the default, uses the database's time, which all nodes share. */
  readonly clock?: Pick<Clock, "now"> | null;
  /** Maximum concurrent commits; 2 when absent. */
  readonly lanes?: number;
  /** Maximum changes of one commit; 256 when absent. */
  readonly mostTogether?: number;
  /** Maximum locked sessions to wait for at once; 4 when absent, fewer with few connections. */
  readonly mostWaitedFor?: number;
  /** Milliseconds after which a claim retries turns of locked sessions; 25 when absent. */
  readonly claimAgainMs?: number;
  /**
   * Receives what commits wait for while they wait for a synchronous standby, and `null` when that is over.
   */
  readonly onStandbyWait?: (problem: string | null) => void;
  /**
   * Called when another server answers, or the same one after a restart: what was read before may be lost. Comes
   * before the result of the first write on it.
   */
  readonly onServerChange?: () => void;
  /** Receives a warning about the server, if there is one. */
  readonly onWarning?: (warning: string) => void;
}

const MOST_WAITED_FOR = 4;

const probe = prepare<[]>("UPDATE probes SET value = value + 1 WHERE one = 1");

/** Timeout of a lease renewal in milliseconds, so that the next one is in time. */
const LEASE_WAIT_MS = 2000;

/**
 * Opens the store and migrates the database. Rejects with a user-facing message if the database cannot be
 * reached, if the server is too old or does not use UTF-8, or if the schema is too new.
 */
export async function openPostgresStore(settings: PostgresStoreOptions): Promise<Store> {
  const { onStandbyWait, onServerChange = () => undefined } = settings;
  let current: string | null = null;
  const onServer = (server: string): void => {
    const isOther = current !== null && current !== server;
    current = server;
    if (isOther) onServerChange();
  };
  const options = { ...settings, standbyWait: new StandbyWait(onStandbyWait), onServer };
  const connections = new Connections(options);
  try {
    await checkSessions(connections, settings);
    const warning = await checkPrimary(connections);
    if (warning !== null) settings.onWarning?.(warning);
    await migrate(connections, readMigrations(join(import.meta.dirname, "migrations")));
  } catch (error) {
    await connections.end();
    throw error;
  }
  const { clock = null, lanes = 2, mostTogether = 256, statementMs = STATEMENT_MS } = options;
  const spare = (options.connections ?? CONNECTIONS) - lanes - 2;
  const mostWaitedFor = options.mostWaitedFor ?? Math.max(1, Math.min(MOST_WAITED_FOR, spare));
  const waits = { mostWaitedFor, heldMs: lockMs(statementMs) };
  const calls = new CallQueue({ connections, clock, lanes, mostTogether, ...waits });
  // Leases have a separate queue and separate connections: if a renewal had to wait for anything else, every
  // turn of the node might stop.
  const leaseConnections = new Connections({
    ...options,
    connections: LEASE_CONNECTIONS,
    connectMs: LEASE_WAIT_MS,
    statementMs: LEASE_WAIT_MS,
  });
  const one = { lanes: 1, mostTogether: 1, mostWaitedFor: 1, heldMs: lockMs(LEASE_WAIT_MS) };
  const leaseCalls = new CallQueue({ connections: leaseConnections, clock, ...one });
  const leaseTurns = turnsOf(leaseCalls);
  const shared = sharedPortsOf(calls);
  let closed: Promise<void> | null = null;
  return {
    ...commandsOf(calls, options),
    sessions: sessionsOf(calls),
    turns: {
      ...turnsOf(calls),
      renew: leaseTurns.renew,
      releaseDeadLeases: leaseTurns.releaseDeadLeases,
    },
    events: eventsOf(calls),
    ...shared,
    admin: { ...shared.admin, used: usedWith(calls) },
    purge: () => Promise.resolve(true),
    probe: () => calls.alone("probe", async (connection) => void (await probe.run(connection))),
    close: () =>
      (closed ??= Promise.all([calls, leaseCalls].map((queue) => queue.close())).then(async () => {
        await Promise.all([connections.end(), leaseConnections.end()]);
      })),
  };
}

function commandsOf(
  calls: Calls,
  { claimAgainMs }: Pick<PostgresStoreOptions, "claimAgainMs">,
): CommandStore {
  const execute = (command: SessionCommand) => {
    const { origin } = needsOf(command);
    if (origin !== undefined) return executeCopy(calls, command, origin);
    return calls.execute(command).catch((error: unknown) => executeWithoutWriting(calls, command, error));
  };
  return {
    execute: <Answer>(command: SessionCommand) => execute(command) as Promise<Answer>,
    executeEach: executeEachWith(calls, claimAgainMs),
  };
}
