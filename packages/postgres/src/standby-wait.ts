// Keeps a store from filling its server with backends that wait for a synchronous standby: a wait has no
// limit, and may not be ended (commit.ts). From the first commit that waits too long until one succeeds,
// writes fail at once.

import { setTimeout as sleep } from "node:timers/promises";
import { storeUnavailable } from "@colloquy/engine/internal/store/unavailable";
import { BARRIER, type Transact } from "./commit.ts";
import { prepare, type Connection } from "./statement.ts";

/** Milliseconds between two looks at the waiting backend. */
const PAUSE_MS = 250;

const waiting = prepare<[number], { readonly waits: boolean }>(
  "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep') AS waits",
);
const barrier = prepare<[], { readonly backend: number }>(
  `SELECT pg_backend_pid() AS backend, ${BARRIER} AS barrier`,
);
const standbys = prepare<[], { readonly names: string; readonly connected: string }>(
  `SELECT current_setting('synchronous_standby_names') AS names,
     coalesce((SELECT string_agg(coalesce(application_name || ' (' || state || ', ' || sync_state || ')',
       'one that only a member of pg_monitor may see'), ', ') FROM pg_stat_replication), 'none') AS connected`,
);

/** The connections on which the wait is observed. */
export interface Observer {
  use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result>;
  readonly transact: Transact;
}

/** Shared by all connections of a store. */
export class StandbyWait {
  /** Receives what commits wait for, and `null` when they succeed again. */
  readonly #onChange: (problem: string | null) => void;
  readonly #closed = new AbortController();
  #problem: string | null = null;
  #over: Promise<void> = Promise.resolve();

  constructor(onChange: (problem: string | null) => void = () => undefined) {
    this.#onChange = onChange;
  }

  /** Throws `Unavailable` while commits wait. */
  refuse(): void {
    if (this.#problem !== null) throw storeUnavailable(new Error(this.#problem));
  }

  /** Begins to refuse writes, because this backend waits for a standby, until a commit succeeds. */
  begin(backend: number, observer: Observer): void {
    if (this.#problem !== null || this.#closed.signal.aborted) return;
    this.#problem = "Commits wait for a synchronous standby";
    this.#over = this.#untilOver(backend, observer).catch(() => undefined);
  }

  /** Ends the observation. Resolves when it uses no connection any more. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#over;
  }

  /** Tries a commit only after the wait of the previous one has ended, so that one backend waits at most. */
  async #untilOver(first: number, { use, transact }: Observer): Promise<void> {
    const { signal } = this.#closed;
    await this.#explain(use);
    let backend = first;
    for (;;) {
      await sleep(PAUSE_MS, undefined, { signal });
      const isWaiting = await use((connection) => waiting.get(connection, backend)).catch(() => null);
      if (isWaiting?.waits !== false) continue;
      const tried = await transact(async (connection) => {
        backend = (await barrier.get(connection))?.backend ?? backend;
        return {};
      }).catch((error: unknown) => ({ lost: error }));
      if (tried.lost === null) break;
    }
    this.#problem = null;
    this.#onChange(null);
  }

  async #explain(use: Observer["use"]): Promise<void> {
    const found = await use((connection) => standbys.get(connection)).catch(() => undefined);
    const details =
      found === undefined
        ? ""
        : `: synchronous_standby_names is '${found.names}', and connected are: ${found.connected}`;
    this.#problem = `Commits wait for a synchronous standby${details}. Start it, or change that setting. Do not cancel the waiting backends: their transactions would be lost in a failover.`;
    this.#onChange(this.#problem);
  }
}
