// Snapshots for whoever asked for one, or waits for a session to stop processing (`Prefer: wait`).

import { NotFound, throwAfterCommit } from "../core/errors.ts";
import type { Following } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { SnapshotView } from "../core/ports/driving/services.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { SessionRegistry } from "./session-registry.ts";
import type { Session } from "./session.ts";
import type { VersionReads } from "./replica-sync.ts";

export interface SettledAnswersOptions {
  readonly registry: Pick<SessionRegistry, "find">;
  readonly running: Pick<RunningTurns, "isRunning">;
  readonly clock: Clock;
  readonly hub: Pick<EventHub, "follow">;
  /** Where sessions stand that other processes change too; `null` where there are none. */
  readonly versions: Pick<VersionReads, "of"> | null;
}

interface Asked {
  readonly sessionId: string;
  /** Milliseconds. */
  readonly waitMs: number;
  /** Aborted when nobody waits any longer. */
  readonly signal: AbortSignal;
}

export class SettledAnswers {
  readonly #options: SettledAnswersOptions;
  readonly #noWaiting = new AbortController();

  constructor(options: SettledAnswersOptions) {
    this.#options = options;
  }

  /** From here on nobody waits: the service ends. */
  stopWaiting(): void {
    this.#noWaiting.abort();
  }

  /** As `answer`, of a request that has changed something: that it failed must not be said. */
  async afterChange(live: Session | null, asked: Asked): Promise<SnapshotView> {
    return await this.answer(live, asked).catch(throwAfterCommit);
  }

  /** The snapshot, when the session has stopped processing or `waitMs` are over; `live` is it as the caller has it, if he does. */
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
        await session.settled(enough);
        session = await this.#present(session, sessionId);
      }
    } finally {
      following.stop();
      timer.stop();
    }
    return (await this.#withText(session)).view();
  }

  /**
   * The session with its text as the store has it now, where that streams elsewhere: memory may be behind by more than a checkpoint. What was
   * done is not undone where the store cannot say.
   */
  async #withText(session: Session): Promise<Session> {
    const { versions, running, registry } = this.#options;
    if (versions === null || !session.isStreaming || running.isRunning(session.key)) return session;
    return (await registry.find(session.id).catch(() => null)) ?? session;
  }

  /** What others have committed before they were followed is looked up: nobody told of it here. */
  async #followed({ ready }: Following, session: Session): Promise<Session> {
    if (this.#options.versions === null) return session;
    await ready;
    const found = await this.#options.registry.find(session.id);
    return await this.#present(found, session.id);
  }

  /** A session that was just committed or waited for; another request may have deleted it since. */
  async #present(live: Session | null, sessionId: string): Promise<Session> {
    const isLive = live !== null && !live.isReplaced;
    const session = isLive ? live : await this.#options.registry.find(sessionId);
    if (session !== null && !session.isGone) return session;
    throw new NotFound("session_deleted", "The session was deleted while this request was answered.");
  }
}
