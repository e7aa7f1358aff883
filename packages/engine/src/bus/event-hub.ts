// The event hub of a process, over the bus to other nodes if there are any. Its listeners are the feed, which
// writes to event streams, and `followOtherNodes` (sessions/replica-sync.ts), which updates the sessions in
// memory and claims turns that other nodes have no slot for. The bus may lose notifications, so on a shared
// store the hub polls the versions of followed sessions every two seconds and triggers a claim of turns: a
// lost change then arrives late instead of never.

import type { Bus, Following, SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type {
  EventHub,
  HubListener,
  LoadedSession,
  Place,
  StreamingText,
} from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";

const POLL_MS = 2_000;
/** Maximum sessions per read. Other reads of the store may run between two batches. */
const BATCH = 500;

/** Subscription without other nodes, which misses no notification. */
const FOLLOWED: Following = { ready: Promise.resolve(), stop: () => undefined };

/** A followed session, with the number of its followers. */
interface Followed {
  readonly following: Following;
  followers: number;
}

/** Reads the versions of sessions in a store that other processes change as well. */
interface Versions {
  /** Returns the session's version in the store, or `null` if it does not exist. */
  of(sessionId: string): Promise<SessionVersion | null>;
}

export interface ProcessEventHubOptions {
  /** `null` if there are no other nodes. */
  readonly bus: Bus | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `null` if no other process changes the store, which disables polling. */
  readonly versions: Versions | null;
}

export class ProcessEventHub implements EventHub {
  readonly #options: ProcessEventHubOptions;
  readonly #listeners = new Set<HubListener>();
  readonly #timer: Timer | null;
  readonly #followed = new Map<string, Followed>();
  #polling: Promise<void> | null = null;
  #isFailing = false;
  #closed = false;

  constructor(options: ProcessEventHubOptions) {
    const { bus, clock, versions } = options;
    this.#options = options;
    bus?.listen({
      onNotification: (sessionId, notification) => this.#notify(sessionId, notification, "elsewhere"),
      onWork: () => this.#notifyOfWork(),
      onResumed: () => void this.poll(),
    });
    this.#timer = versions === null ? null : clock.every(POLL_MS, () => void this.poll());
  }

  publish(sessionId: string, notification: SessionNotification, only?: Place): void {
    if (only !== "elsewhere") this.#notify(sessionId, notification, "here");
    if (only !== "here") this.#options.bus?.publish(sessionId, notification);
  }

  notifyWork(): void {
    this.#options.bus?.notifyWork();
  }

  evicted(sessionId: string): void {
    this.#tell("evicted", (listener) => listener.onEvicted?.(sessionId));
  }

  answerLoaded(session: LoadedSession, streaming: StreamingText): void {
    this.#tell("answer loaded", (listener) => listener.onAnswerLoaded?.(session, streaming));
  }

  listen(listener: HubListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  follow(sessionId: string): Following {
    const { bus } = this.#options;
    if (bus === null && this.#timer === null) return FOLLOWED;
    const followed = this.#followed.get(sessionId) ?? {
      following: bus?.follow(sessionId) ?? FOLLOWED,
      followers: 0,
    };
    followed.followers += 1;
    this.#followed.set(sessionId, followed);
    let stopped = false;
    return {
      ready: followed.following.ready,
      stop: () => {
        if (stopped) return;
        stopped = true;
        followed.followers -= 1;
        if (followed.followers > 0) return;
        this.#followed.delete(sessionId);
        followed.following.stop();
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.stop();
    await this.#polling;
    await this.#options.bus?.close();
  }

  /** Polls now, or joins the poll under way. Never rejects. */
  async poll(): Promise<void> {
    const { versions } = this.#options;
    if (versions === null) return;
    this.#polling ??= this.#poll(versions).finally(() => {
      this.#polling = null;
    });
    await this.#polling;
  }

  async #poll(versions: Versions): Promise<void> {
    // A notification of waiting turns may have been lost.
    this.#notifyOfWork();
    try {
      const ids = [...this.#followed.keys()];
      for (let from = 0; from < ids.length && !this.#closed; from += BATCH) {
        await Promise.all(ids.slice(from, from + BATCH).map((id) => this.#check(id, versions)));
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.logger.warn(
          { err: error },
          "could not poll the store for changes of other processes; retrying every two seconds",
        );
      this.#isFailing = true;
    }
  }

  async #check(id: string, versions: Versions): Promise<void> {
    // Take the known incarnations before reading: one that starts during the read may be missing in the
    // result without having ended.
    const incarnations = this.#incarnationsOf(id);
    const version = await versions.of(id);
    if (this.#closed) return;
    for (const incarnation of incarnations) {
      if (incarnation !== version?.incarnation)
        this.#notify(id, { kind: "deleted", incarnation }, "elsewhere");
    }
    if (version === null) return;
    const { incarnation, epoch, head } = version;
    this.#notify(id, { kind: "moved", incarnation, epoch, head }, "elsewhere");
  }

  #notify(sessionId: string, notification: SessionNotification, origin: Place): void {
    this.#tell(notification.kind, (listener) => listener.onNotification(sessionId, notification, origin));
  }

  #notifyOfWork(): void {
    this.#tell("work", (listener) => listener.onWork?.());
  }

  /** Returns each incarnation of the session that a listener knows, once. */
  #incarnationsOf(sessionId: string): ReadonlySet<string> {
    return new Set([...this.#listeners].flatMap((listener) => listener.incarnationsOf?.(sessionId) ?? []));
  }

  /** Calls every listener. One that throws is logged and affects neither the others nor the publisher. */
  #tell(kind: string, call: (listener: HubListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        call(listener);
      } catch (error) {
        // The change is already committed, so a failing listener must not fail the publisher.
        this.#options.logger.error({ err: error, kind }, "a listener of the event hub failed");
      }
    }
  }
}
