// The periodic cleanup removes expired sessions and files, events, idempotency keys, revocations, ids of
// deleted sessions and entries of the audit trail, and counts the sizes of sessions of older versions. It works in small batches, so that it
// never delays requests.

import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { USE_RECORDED_MS } from "./session.ts";
import { FILE_PORTION, type Files } from "./files.ts";
import type { SessionRegistry } from "./session-registry.ts";

const EVERY_MS = 5 * 60_000;
/** Lease of the cleanup in milliseconds. Shorter than the interval, so that one process cleans up in each interval. */
const HELD_MS = EVERY_MS - 30_000;
const DUTY = "cleanup";
const PORTION = 200;
/** Smaller than `PORTION`, because counting reads all rows of a session. */
const COUNTED_PORTION = 50;

export interface CleanupOptions {
  readonly store: Store;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Apps with their session expiry. The expiry of `default` also applies to sessions of removed Apps. */
  readonly apps: AppCatalog;
  readonly files: Pick<Files, "cleanUp">;
  readonly events: { readonly keepCount: number; readonly keepMs: number };
  /** Age at which entries of the audit trail are removed, in milliseconds. */
  readonly auditMs: number;
}

export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #timer: Timer;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: CleanupOptions) {
    this.#options = options;
    this.#timer = options.clock.every(EVERY_MS, () => void this.runIfDue());
  }

  /** Runs a cleanup unless another process has run one in this period. Never rejects. */
  async runIfDue(): Promise<void> {
    const { store, logger } = this.#options;
    let at: number | null;
    try {
      if (this.#stopped) return;
      at = await store.jobs.takeDuty(DUTY, HELD_MS);
    } catch (error) {
      logger.warn({ err: error }, "could not start the cleanup; retrying in five minutes");
      return;
    }
    if (at !== null) await this.run(at);
  }

  /**
   * Runs a cleanup now, or joins the one in progress. On a shared store `at` is the store's time, because a
   * node with a wrong clock must not expire sessions. Never rejects.
   */
  async run(at = this.#options.clock.now()): Promise<void> {
    this.#running ??= this.#clean(at).finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer.stop();
    await this.#running;
  }

  async #clean(at: number): Promise<void> {
    const { logger, store, auditMs, files } = this.#options;
    const steps: Readonly<Record<string, () => Promise<number>>> = {
      sessions: () => this.#inPortions((limit) => this.#expireSome(at, limit)),
      trimmed: () => this.#inPortions((limit) => this.#trimSome(at, limit)),
      keys: () => this.#inPortions((limit) => store.jobs.forgetIdempotencyKeys(limit)),
      deleted: () => this.#inPortions((limit) => store.jobs.forgetDeletedSessions(limit)),
      tokens: () => this.#inPortions((limit) => store.users.forgetRevokedTokens(limit)),
      audited: () => this.#inPortions((limit) => store.audit.forget(at - auditMs, limit)),
      files: () => this.#inPortions((limit) => files.cleanUp(limit), FILE_PORTION),
      counted: () => this.#inPortions((limit) => store.sessions.countSizes(limit), COUNTED_PORTION),
    };
    const done: Record<string, number> = {};
    for (const [step, run] of Object.entries(steps)) {
      try {
        done[step] = await run();
      } catch (error) {
        logger.warn({ err: error, step }, "a step of the cleanup failed; it runs again in five minutes");
      }
    }
    if (Object.values(done).some((count) => count > 0)) logger.info(done, "cleaned up");
  }

  /**
   * Repeats a batch until one is not full. A batch that fails is tried again with a quarter of its size: the database may
   * need too long for so many large sessions.
   */
  async #inPortions(portion: (limit: number) => Promise<number>, size = PORTION): Promise<number> {
    let total = 0;
    let limit = size;
    let failure: unknown;
    for (let done = size; done >= limit && !this.#stopped; ) {
      try {
        done = await portion(limit);
        total += done;
      } catch (error) {
        if (limit === 1) throw error;
        failure = error;
        limit = Math.ceil(limit / 4);
        done = limit;
      }
    }
    if (failure !== undefined)
      this.#options.logger.warn({ err: failure, limit }, "the cleanup needs smaller batches");
    return total;
  }

  async #expireSome(at: number, limit: number): Promise<number> {
    const { store, registry, dispatcher, apps } = this.#options;
    // Use is recorded up to USE_RECORDED_MS late, so a session in use never counts as expired.
    const now = at - USE_RECORDED_MS;
    const times = apps.names().flatMap((name) => {
      const expiry = apps.get(name)?.expiry;
      if (expiry === undefined) return [];
      const { emptyMs, unboundMs, boundMs } = expiry;
      const boundBefore = boundMs === undefined ? null : now - boundMs;
      return [[name, { emptyBefore: now - emptyMs, unboundBefore: now - unboundMs, boundBefore }] as const];
    });
    const { [DEFAULT_APP]: others, ...byApp } = Object.fromEntries(times);
    if (others === undefined) throw new Error("The default App is missing from the catalog");
    const expired = await store.sessions.expire({ ...others, byApp, limit });
    for (const { id, incarnation } of expired) {
      registry.remove(id, incarnation);
      dispatcher.abandon(id, incarnation);
    }
    return expired.length;
  }

  async #trimSome(at: number, limit: number): Promise<number> {
    const { store, events } = this.#options;
    const keepAfter = at - events.keepMs;
    return await store.events.trim({ keepCount: events.keepCount, keepAfter, limit });
  }
}
