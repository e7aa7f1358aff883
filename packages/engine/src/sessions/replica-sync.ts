// Keeps the sessions in memory in step with other processes on the same store: notifications describe
// changes, and the version in the store shows whether memory is current. A single process does not need it.

import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { EventStore } from "../core/ports/driven/store.ts";
import type { SessionStore, SessionVersion } from "../core/ports/driven/session-store.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { RunningTurns } from "../turns/running-turns.ts";
import type { Session } from "./session.ts";

/** Maximum events per read, and maximum reads per catch-up. Beyond that, reloading the session is cheaper. */
const PAGE = 200;
const MAX_PAGES = 5;
/** Maximum checks of a session that changes while its text is read, before it is loaded again. */
const MAX_CHECKS = 3;
/** Maximum sessions of one version read. */
const VERSIONS_AT_ONCE = 500;

export interface ReplicaSyncOptions {
  readonly versions: Pick<VersionReads, "of">;
  readonly events: Pick<EventStore, "after">;
  readonly sessions: Pick<SessionStore, "streamedText">;
  readonly running: Pick<RunningTurns, "isRunning" | "supersede">;
}

/** `gone`: the incarnation was deleted; `lost`: the session must be loaded again. */
export type SyncResult = "current" | "gone" | "lost";

export class ReplicaSync {
  readonly #options: ReplicaSyncOptions;
  /** Reads in progress, shared by concurrent callers. */
  readonly #reading = new Map<Session, Promise<boolean>>();

  constructor(options: ReplicaSyncOptions) {
    this.#options = options;
  }

  /**
   * Updates the session to the state of the store at some time after this call, or to `version`. Ignores a
   * `version` of another incarnation, which may be an earlier one. Rejects like the store.
   */
  async toNow(session: Session, version: SessionVersion | null = null): Promise<SyncResult> {
    for (let check = 0; check < MAX_CHECKS; check += 1) {
      const known = check === 0 && version?.incarnation === session.incarnation ? version : null;
      const target = known ?? (await this.#options.versions.of(session.id));
      if (target === null || target.incarnation !== session.incarnation) return "gone";
      session.noteEpoch(target.epoch);
      this.#options.running.supersede(session.key, target.epoch);
      if (!(await this.toHead(session, target.head))) return session.isGone ? "gone" : "lost";
      if (await this.#readText(session, target)) return "current";
    }
    return "lost";
  }

  /** Applies the events up to number `head`. Returns false if the session must be loaded again. */
  async toHead(session: Session, head: number): Promise<boolean> {
    while (session.head < head) {
      const joined = this.#reading.get(session);
      const reading = joined ?? this.#readEvents(session, head).finally(() => this.#reading.delete(session));
      if (joined === undefined) this.#reading.set(session, reading);
      if (!(await reading)) return false;
    }
    return !session.isReplaced && !session.isGone;
  }

  async #readEvents(session: Session, head: number): Promise<boolean> {
    for (let pages = 0; session.head < head; pages += 1) {
      if (pages === MAX_PAGES || session.isReplaced || session.isGone) return false;
      const before = session.head;
      const page = await this.#options.events.after(session.id, before, PAGE);
      if (page === null || page.incarnation !== session.incarnation) return false;
      if (!session.apply(page.events)) return false;
      // No progress: the log was trimmed beyond the known events.
      if (session.head === before) return false;
    }
    return true;
  }

  /** Reads the streaming text unless it is known. Returns false if the session changed in the meantime. */
  async #readText(session: Session, version: SessionVersion): Promise<boolean> {
    const { sessions, running } = this.#options;
    // A turn that runs here has the newest text.
    if (!session.isStreaming || running.isRunning(session.key)) return true;
    if (session.textMark === markOf(version)) return true;
    const read = await sessions.streamedText(session.id);
    if (read === null || read.incarnation !== session.incarnation || read.head !== session.head) return false;
    if (running.isRunning(session.key)) return true;
    session.showStreamed(read.text, markOf(read));
    return true;
  }
}

/**
 * Returns a mark that changes with the streamed text. It includes the epoch, because each run of a turn
 * restarts the step's text.
 */
function markOf({ epoch, streamed }: Pick<SessionVersion, "epoch" | "streamed">): string {
  return `${epoch} ${streamed ?? ""}`;
}

/**
 * Reads versions of sessions in batches. Requests that arrive during a read share the next one, because the
 * current read may already be outdated.
 */
export class VersionReads {
  readonly #store: Pick<SessionStore, "versions">;
  readonly #requests = new Map<string, PromiseWithResolvers<SessionVersion | null>>();
  #isReading = false;

  constructor(store: Pick<SessionStore, "versions">) {
    this.#store = store;
  }

  /** Returns `null` if the session does not exist. Rejects like the store. */
  of(id: string): Promise<SessionVersion | null> {
    let request = this.#requests.get(id);
    if (request === undefined) {
      request = Promise.withResolvers();
      this.#requests.set(id, request);
      if (!this.#isReading) void this.#readAll();
    }
    return request.promise;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    // Batch everything requested in this tick of the event loop.
    await Promise.resolve();
    while (this.#requests.size > 0) {
      const batch = new Map([...this.#requests].slice(0, VERSIONS_AT_ONCE));
      for (const id of batch.keys()) this.#requests.delete(id);
      try {
        const versions = await this.#store.versions([...batch.keys()]);
        for (const version of versions) batch.get(version.id)?.resolve(version);
        for (const request of batch.values()) request.resolve(null);
      } catch (error) {
        for (const request of batch.values()) request.reject(error);
      }
    }
    this.#isReading = false;
  }
}

type RemoteChange = Extract<SessionNotification, { kind: "events" | "moved" | "deleted" }>;

export interface OtherNodesParts {
  readonly hub: Pick<EventHub, "listen">;
  readonly registry: {
    applyRemote(sessionId: string, notification: Exclude<RemoteChange, { kind: "deleted" }>): void;
  };
  readonly cache: {
    end(sessionId: string, incarnation: string): void;
    peek(sessionId: string): { readonly incarnation: string } | undefined;
  };
  readonly running: Pick<RunningTurns, "abort">;
  readonly dispatcher: Pick<Dispatcher, "abandon" | "claimAnnounced">;
}

/**
 * Applies notifications of other nodes while the hub is open, stops turns that lost their right to run, and
 * claims turns for which another node has no slot.
 */
export function followOtherNodes({ hub, registry, cache, running, dispatcher }: OtherNodesParts): void {
  const take = (sessionId: string, notification: RemoteChange): void => {
    if (notification.kind === "deleted") {
      cache.end(sessionId, notification.incarnation);
      dispatcher.abandon(sessionId, notification.incarnation);
      return;
    }
    // Abort the turn first: it must not add text after events of a newer epoch.
    running.abort(sessionId, notification.incarnation, notification.epoch);
    registry.applyRemote(sessionId, notification);
  };
  hub.listen({
    onNotification(sessionId, notification, origin) {
      if (origin === "here") return;
      // Ignore text of other nodes: snapshots read it from the store, and the feed sends it to subscribers.
      if (notification.kind === "events" || notification.kind === "moved" || notification.kind === "deleted")
        take(sessionId, notification);
    },
    onWork: () => dispatcher.claimAnnounced(),
    incarnationsOf(sessionId) {
      const session = cache.peek(sessionId);
      return session === undefined ? [] : [session.incarnation];
    },
  });
}
