// The live sessions of this process, and whether they are right: they follow what is committed here, and catch up with what is committed
// elsewhere. One that cannot follow leaves, and is loaded again by whoever asks next.

import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed, SessionVersion } from "../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import type { CatchUp } from "./catch-up.ts";
import type { Session } from "./session.ts";
import type { SessionCache } from "./session-cache.ts";

export interface LiveSessionsOptions {
  readonly cache: SessionCache;
  readonly logger: Logger;
  /** `null` where no other process changes the store: then memory is right. */
  readonly catchUp: Pick<CatchUp, "toNow" | "toHead"> | null;
}

export class LiveSessions {
  readonly #options: LiveSessionsOptions;

  constructor(options: LiveSessionsOptions) {
    this.#options = options;
  }

  /** Whether a session in memory may be answered from without a look at the store. */
  get areRight(): boolean {
    return this.#options.catchUp === null;
  }

  /**
   * The session in memory, as the store had it at some moment after this call, or when it was `seen`; `null` when it has to be
   * loaded.
   */
  async current(id: string, seen: SessionVersion | null = null): Promise<Session | null> {
    const { cache, catchUp } = this.#options;
    const session = cache.get(id);
    if (session === undefined || catchUp === null) return session ?? null;
    const { head, textMark } = session;
    const caught = await catchUp.toNow(session, seen);
    if (caught === "current") {
      if (session.head !== head || session.textMark !== textMark) this.#weigh(session);
      return session;
    }
    if (caught === "gone") this.end(id, session.life);
    else this.#replace(session);
    return null;
  }

  /** Whether a session lacks events before `head` that others have committed. */
  isBehind(session: Session, head: number): boolean {
    return !this.areRight && session.head < head;
  }

  /** Reads what others have committed. Answers `false`, and lets go of the session, when it cannot follow. */
  async catchesUp(session: Session, head: number): Promise<boolean> {
    const { catchUp } = this.#options;
    if (catchUp === null) return true;
    const isUp = await catchUp.toHead(session, head);
    if (isUp) this.#weigh(session);
    else this.#replace(session);
    return isUp;
  }

  /** Others have committed this. What comes too early waits for what comes before it; what does not fit is found by catching up. */
  hears(session: Session, events: readonly NumberedEvent[]): void {
    session.apply(events);
    this.#weigh(session);
  }

  /** Applies what was committed; `false`, and lets go of the session, when it cannot follow. */
  follows(session: Session, { session: record, events }: Committed<unknown>): boolean {
    if (session.life !== record.life) session.end();
    else if (session.apply(events)) return true;
    else session.replace();
    this.#options.cache.delete(record.id);
    this.#options.logger.warn(
      { session: record.id.slice(0, 8) },
      "a live session fell behind its log; it is loaded again",
    );
    return false;
  }

  /** A life of a session is over: nothing of it stays in memory. */
  end(id: string, life: string): void {
    const session = this.#options.cache.peek(id);
    if (session?.life !== life) return;
    this.#options.cache.delete(id);
    session.end();
  }

  /** What was committed may not have come back, so the live session may lack it: it is loaded anew for whoever asks next. */
  reload(id: string): void {
    const session = this.#options.cache.peek(id);
    if (session !== undefined) this.#replace(session);
  }

  /** As `reload`, of all that wait for a person as far as memory knows. */
  reloadAsking(): void {
    for (const session of this.#options.cache.sessions()) {
      if (session.hasPendingActions) this.#replace(session);
    }
  }

  /** What a session holds counts in the memory budget, whoever has changed it. */
  #weigh(session: Session): void {
    const { cache } = this.#options;
    if (cache.peek(session.id) === session) cache.put(session);
  }

  #replace(session: Session): void {
    const { cache } = this.#options;
    if (cache.peek(session.id) === session) cache.delete(session.id);
    session.replace();
  }
}
