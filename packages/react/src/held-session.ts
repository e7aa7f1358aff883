import type { LiveSession, SessionUpdate } from "@colloquy/client";

/** What tools that run have told of themselves last, by the id of their call. Of the shape that the tool gives it. */
export type Progress = ReadonlyMap<string, unknown>;

const NO_PROGRESS: Progress = new Map();

/** What lists of conversations want to know of one. */
export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  /** When the newest message came, and its id; `null` before the first one. */
  readonly newest: { readonly id: string; readonly created_at: string } | null;
  readonly isDeleted: boolean;
}

/**
 * A session and who shows it. It is followed from the first one on until just after the last one has left: a component that goes and
 * comes back in the same moment (React's strict mode does that to all of them, and so does a change of pages) opens nothing anew.
 */
export class HeldSession {
  readonly session: LiveSession;
  readonly #onSummary: (summary: SessionSummary, before: SessionSummary | null) => void;
  readonly #listeners = new Set<() => void>();
  #summary: SessionSummary | null = null;
  #progress = NO_PROGRESS;
  #leave: (() => void) | null = null;
  #reading: AbortController | null = null;

  /** `onSummary` hears of each summary that differs from the one before, `null` for the first one. */
  constructor(
    session: LiveSession,
    onSummary: (summary: SessionSummary, before: SessionSummary | null) => void,
  ) {
    this.session = session;
    this.#onSummary = onSummary;
  }

  get isShown(): boolean {
    return this.#leave !== null;
  }

  get progress(): Progress {
    return this.#progress;
  }

  subscribe(listener: () => void): () => void {
    // The same function may listen twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#follow();
    return () => {
      this.#listeners.delete(own);
      setTimeout(() => this.#leaveIfAlone(), 0);
    };
  }

  #follow(): void {
    if (this.#leave !== null) {
      // Whoever comes to a session that was refused, or stopped, tries it again.
      const { state } = this.session.getConnection();
      if (state !== "failed" && state !== "idle") return;
      this.#leave();
    }
    this.#leave = this.session.subscribe(() => {
      this.#read();
      this.#tell();
    });
    this.#read();
  }

  #leaveIfAlone(): void {
    if (this.#listeners.size > 0) return;
    this.#leave?.();
    this.#leave = null;
    this.#reading?.abort();
    this.#reading = null;
    this.#progress = NO_PROGRESS;
  }

  /** Snapshots do not hold what tools tell while they run, so it is taken from the events. */
  #read(): void {
    const { state } = this.session.getConnection();
    if (this.#reading !== null || state === "failed" || state === "deleted") return;
    const reading = new AbortController();
    this.#reading = reading;
    const loop = async (): Promise<void> => {
      for await (const update of this.session.updates({ signal: reading.signal })) this.#take(update);
    };
    // That it has failed stands in the connection; it is read again when that is better.
    void loop()
      .catch(() => undefined)
      .finally(() => {
        if (this.#reading !== reading) return;
        this.#reading = null;
        // Somebody has stopped the session, which forgets its listeners: those who show it here have not left.
        if (this.session.getConnection().state === "idle") this.#follow();
      });
  }

  #take(update: SessionUpdate): void {
    const progress = after(this.#progress, update);
    if (progress === this.#progress) return;
    this.#progress = progress;
    this.#tell();
  }

  #tell(): void {
    const before = this.#summary;
    const summary = summaryOf(this.session);
    if (summary !== null && !isSame(summary, before)) {
      this.#summary = summary;
      this.#onSummary(summary, before);
    }
    for (const listener of this.#listeners) listener();
  }
}

function after(before: Progress, update: SessionUpdate): Progress {
  if (update.type === "state_changed" && update.status !== "processing") return NO_PROGRESS;
  if (update.type === "tool_complete" && before.has(update.call_id)) {
    return new Map([...before].filter(([id]) => id !== update.call_id));
  }
  if (update.type !== "tool_update" || update.progress === null) return before;
  return new Map(before).set(update.call_id, update.progress);
}

function summaryOf({ id, getSnapshot, getConnection }: LiveSession): SessionSummary | null {
  const snapshot = getSnapshot();
  if (snapshot === null) return null;
  const newest = snapshot.messages.at(-1) ?? null;
  return { id, title: snapshot.title, newest, isDeleted: getConnection().state === "deleted" };
}

function isSame(one: SessionSummary, other: SessionSummary | null): boolean {
  const { title, newest, isDeleted } = one;
  return title === other?.title && newest?.id === other.newest?.id && isDeleted === other.isDeleted;
}
