// Returns snapshots, at once or when the session stops processing (`Prefer: wait`).

import { NotFound, throwAfterCommit } from "../core/errors.ts";
import type { Following } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { SnapshotView } from "../core/ports/driving/services.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { SessionRegistry } from "./session-registry.ts";
import type { Session } from "./session.ts";
import type { VersionReads } from "./replica-sync.ts";

export interface SnapshotAnswersOptions {
  readonly registry: Pick<SessionRegistry, "find">;
  readonly running: Pick<RunningTurns, "isRunning">;
  readonly clock: Clock;
  readonly hub: Pick<EventHub, "follow">;
  /** `null` if no other process changes the store. */
  readonly versions: Pick<VersionReads, "of"> | null;
}

interface Asked {
  readonly sessionId: string;
  /** Milliseconds. */
  readonly waitMs: number;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export class SnapshotAnswers {
  readonly #options: SnapshotAnswersOptions;
  readonly #noWaiting = new AbortController();

  constructor(options: SnapshotAnswersOptions) {
    this.#options = options;
  }

  /** Ends all waits; the service is stopping. */
  stopWaiting(): void {
    this.#noWaiting.abort();
  }

  /** Like `answer`, after a commit: its errors must not say that nothing was changed. */
  async afterChange(live: Session | null, asked: Asked): Promise<SnapshotView> {
    return await this.answer(live, asked).catch(throwAfterCommit);
  }

  /** Returns the snapshot when the session stops processing or after `waitMs`. `live` is the session if the caller has it. */
  async answer(live: Session | null, { sessionId, waitMs, signal }: Asked): Promise<SnapshotView> {
    let session = await this.#present(live, sessionId);
    if (waitMs === 0 || !session.isProcessing) return (await this.#withText(session)).view();
    const timeOver = new AbortController();
    const timer = this.#options.clock.after(waitMs, () => timeOver.abort());
    const enough = AbortSignal.any([signal, timeOver.signal, this.#noWaiting.signal]);
    const following = this.#options.hub.follow(sessionId);
    try {
      session = await this.#followed(following, session);
      while (session.isProcessing && !enough.aborted) {
        await session.untilIdle(enough);
        session = await this.#present(session, sessionId);
      }
    } finally {
      following.stop();
      timer.stop();
    }
    return (await this.#withText(session)).view();
  }

  /**
   * Reads the text of a session whose turn runs in another process, because memory may be older than the last checkpoint. Falls back to
   * memory if the store fails.
   */
  async #withText(session: Session): Promise<Session> {
    const { versions, running, registry } = this.#options;
    if (versions === null || !session.isStreaming || running.isRunning(session.key)) return session;
    return (await registry.find(session.id).catch(() => null)) ?? session;
  }

  /** Reads commits of other processes from before this process followed the session. */
  async #followed({ ready }: Following, session: Session): Promise<Session> {
    if (this.#options.versions === null) return session;
    await ready;
    const found = await this.#options.registry.find(session.id);
    return await this.#present(found, session.id);
  }

  /** Returns the current object of the session. Throws `NotFound` if another request deleted it. */
  async #present(live: Session | null, sessionId: string): Promise<Session> {
    const isLive = live !== null && !live.isReplaced;
    const session = isLive ? live : await this.#options.registry.find(sessionId);
    if (session !== null && !session.isGone) return session;
    throw new NotFound("session_deleted", "The session was deleted while this request was answered.");
  }
}
