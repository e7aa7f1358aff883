// A primary with one synchronous standby, and the faults that can happen to them.

import type { PostgresServer } from "../../test/postgres-server.ts";
import type { TcpProxy } from "../../test/tcp-proxy.ts";
import type { Random } from "../harness/random.ts";

/** Levels of `synchronous_commit` that wait for the standby. */
const LEVELS = ["on", "remote_apply"] as const;

const STANDBY = "spare";

export class Pair {
  /** Number of promotions so far. */
  generation = 0;
  readonly #links: readonly TcpProxy[];
  #primary: PostgresServer;
  #standby: PostgresServer;
  #isStandbyUp = true;
  #resume: (() => void) | null = null;

  private constructor(primary: PostgresServer, standby: PostgresServer, links: readonly TcpProxy[]) {
    this.#primary = primary;
    this.#standby = standby;
    this.#links = links;
  }

  /** `links` lead to the primary. */
  static async of(primary: PostgresServer, links: readonly TcpProxy[]): Promise<Pair> {
    return new Pair(primary, await primary.startStandby(STANDBY, settingsOf("on")), links);
  }

  async stop(): Promise<void> {
    this.#release();
    await this.#standby.stop();
    await this.#primary.stop();
  }

  async stopStandby(): Promise<void> {
    if (!this.#isStandbyUp) return;
    this.#release();
    this.#isStandbyUp = false;
    await this.#standby.halt();
  }

  async startStandby(): Promise<void> {
    this.#release();
    if (this.#isStandbyUp) return;
    await this.#standby.resume();
    this.#isStandbyUp = true;
  }

  /** Stops what goes to the standby, without closing its connection. */
  async holdBack(): Promise<void> {
    if (this.#isStandbyUp) this.#resume ??= await this.#standby.pauseReplication();
  }

  /** Ends the waits of all commits, as an operator might who finds them hanging. */
  async endWaits(how: "pg_cancel_backend" | "pg_terminate_backend"): Promise<void> {
    await this.#primary.query(
      "postgres",
      `SELECT ${how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    );
  }

  cutConnections(): void {
    for (const link of this.#links) link.reset();
  }

  async restartPrimary(): Promise<void> {
    await this.#primary.halt();
    await this.#primary.resume();
  }

  /** Kills the primary and promotes the standby. */
  async failOver(): Promise<void> {
    await this.#primary.halt();
    await this.startStandby();
    await this.#standby.promote();
    this.generation += 1;
    const former = this.#primary;
    this.#primary = this.#standby;
    for (const link of this.#links) link.target = this.#primary.port;
    this.cutConnections();
    await former.stop();
  }

  /** Gives the promoted server a new standby. */
  async complete(random: Random): Promise<void> {
    this.#standby = await this.#primary.startStandby(STANDBY, settingsOf(random.pick(LEVELS)));
    this.#isStandbyUp = true;
  }

  #release(): void {
    this.#resume?.();
    this.#resume = null;
  }
}

function settingsOf(level: (typeof LEVELS)[number]) {
  return { synchronous_standby_names: STANDBY, synchronous_commit: level };
}
