// Brings sessions in memory up to what other processes have committed: memory spares reading a conversation anew, and the version in the
// store says whether memory is right. Used where a store has several processes; one that is alone has nothing to catch up with.

import type { EventStore } from "../core/ports/driven/event-store.ts";
import type { SessionStore, SessionVersion } from "../core/ports/driven/session-store.ts";
import type { Session } from "./session.ts";
import type { VersionReads } from "./version-reads.ts";

/** Events of one read, and reads of one catching up: who is further behind is loaded anew, which is cheaper then. */
const PAGE = 200;
const MAX_PAGES = 5;
/** How often a session that goes on while its text is read is looked at again before it is loaded anew. */
const MAX_LOOKS = 3;

export interface CatchUpOptions {
  readonly versions: Pick<VersionReads, "of">;
  readonly events: Pick<EventStore, "after">;
  readonly sessions: Pick<SessionStore, "streamedText">;
  /** Whether a turn of the session runs in this process, so that its text is here first. */
  readonly isWorkedOn: (session: Session) => boolean;
  /** The session has come to this epoch: what runs here for an older one must not speak in it any longer. */
  readonly supersede: (session: Session, epoch: number) => void;
}

/** Whether the session is now as the store has it; `gone`: its life is over; `lost`: it has to be loaded again. */
export type Caught = "current" | "gone" | "lost";

export class CatchUp {
  readonly #options: CatchUpOptions;
  /** Sessions that are catching up, so that many polls read what they lack once. */
  readonly #under = new Map<Session, Promise<boolean>>();

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /**
   * Brings the session to where the store was at some moment after this call, or when it was `seen`, if that is of the session's life: what
   * was seen before the session was taken from memory may be of the life before. Rejects as the store does.
   */
  async toNow(session: Session, seen: SessionVersion | null = null): Promise<Caught> {
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const known = look === 0 && seen?.life === session.life ? seen : null;
      const version = known ?? (await this.#options.versions.of(session.id));
      if (version === null || version.life !== session.life) return "gone";
      session.noteEpoch(version.epoch);
      this.#options.supersede(session, version.epoch);
      if (!(await this.toHead(session, version.head))) return session.isGone ? "gone" : "lost";
      if (await this.#hasText(session, version)) return "current";
    }
    return "lost";
  }

  /** Applies the events up to and with number `head`. Answers `false` when the session cannot follow and has to be loaded again. */
  async toHead(session: Session, head: number): Promise<boolean> {
    while (session.head < head) {
      const joined = this.#under.get(session);
      const reading = joined ?? this.#read(session, head).finally(() => this.#under.delete(session));
      if (joined === undefined) this.#under.set(session, reading);
      if (!(await reading)) return false;
    }
    return !session.isReplaced && !session.isGone;
  }

  async #read(session: Session, head: number): Promise<boolean> {
    for (let pages = 0; session.head < head; pages += 1) {
      if (pages === MAX_PAGES || session.isReplaced || session.isGone) return false;
      const before = session.head;
      const page = await this.#options.events.after(session.id, before, PAGE);
      if (page === null || page.life !== session.life) return false;
      if (!session.apply(page.events)) return false;
      // Also where the log was cut: what is left of it does not follow.
      if (session.head === before) return false;
    }
    return true;
  }

  /** Reads the text that streams, unless it is known. Answers `false` when the session went on meanwhile. */
  async #hasText(session: Session, version: SessionVersion): Promise<boolean> {
    const { sessions, isWorkedOn } = this.#options;
    if (!session.isStreaming || isWorkedOn(session)) return true;
    if (session.textMark === markOf(version)) return true;
    const read = await sessions.streamedText(session.id);
    if (read === null || read.life !== session.life || read.head !== session.head) return false;
    if (isWorkedOn(session)) return true;
    session.showStreamed(read.text, markOf(read));
    return true;
  }
}

/** What tells one text of a session from another: each run of a turn begins its step's text anew. */
function markOf({ epoch, streamed }: Pick<SessionVersion, "epoch" | "streamed">): string {
  return `${epoch} ${streamed ?? ""}`;
}
