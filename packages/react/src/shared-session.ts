import { ColloquyError, type LiveSession, type SessionUpdate, type ToolHandlers } from "@colloquy/client";

/** Latest progress of running tools by call id, in each tool's own shape. */
export type Progress = ReadonlyMap<string, unknown>;

const NO_PROGRESS: Progress = new Map();

/** The fields of a session that thread lists use. */
export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  /** Id and time of the newest message; `null` before the first one. */
  readonly newest: { readonly id: string; readonly created_at: string } | null;
  readonly isDeleted: boolean;
}

/**
 * A live session and its subscribers. It stays open for a moment after the last one has left: a component
 * that unmounts and mounts again at once (React's strict mode, a change of pages) opens no new connection.
 */
export class SharedSession {
  readonly session: LiveSession;
  /** Tools to run while the session is shown. */
  readonly #tools: ReadonlySet<ToolHandlers>;
  /** The tools that run, and how to end each. */
  readonly #running = new Map<ToolHandlers, () => void>();
  readonly #onSummary: (summary: SessionSummary, before: SessionSummary | null) => void;
  readonly #listeners = new Set<() => void>();
  #summary: SessionSummary | null = null;
  #progress = NO_PROGRESS;
  #leave: (() => void) | null = null;
  #reading: AbortController | null = null;

  /**
   * `tools` may change: call `changeTools` then. `onSummary` receives each summary that differs from the previous one, which is
   * `null` at first.
   */
  constructor(
    session: LiveSession,
    tools: ReadonlySet<ToolHandlers>,
    onSummary: (summary: SessionSummary, before: SessionSummary | null) => void,
  ) {
    this.session = session;
    this.#tools = tools;
    this.#onSummary = onSummary;
  }

  get isShown(): boolean {
    return this.#leave !== null;
  }

  get progress(): Progress {
    return this.#progress;
  }

  subscribe(listener: () => void): () => void {
    // The same function may subscribe twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#follow();
    return () => {
      this.#listeners.delete(own);
      setTimeout(() => this.#leaveIfAlone(), 0);
    };
  }

  /** Runs the tools if the session is shown, and ends those that are no longer offered. */
  changeTools(): void {
    for (const [handlers, end] of this.#running) {
      if (this.isShown && this.#tools.has(handlers)) continue;
      this.#running.delete(handlers);
      end();
    }
    if (!this.isShown) return;
    for (const handlers of this.#tools) {
      if (!this.#running.has(handlers)) this.#running.set(handlers, this.session.runTools(handlers));
    }
  }

  #follow(): void {
    if (this.#leave !== null) {
      // A new subscriber retries a session that was refused or stopped.
      const { state } = this.session.getConnection();
      if (state !== "failed" && state !== "idle") return;
      this.#end();
    }
    this.#leave = this.session.subscribe(() => {
      this.#read();
      this.#tell();
    });
    this.changeTools();
    this.#read();
  }

  #end(): void {
    this.#leave?.();
    this.#leave = null;
    this.changeTools();
  }

  #leaveIfAlone(): void {
    if (this.#listeners.size > 0) return;
    this.#end();
    this.#reading?.abort();
    this.#reading = null;
    this.#progress = NO_PROGRESS;
  }

  /** Reads the progress of tools from events, because snapshots do not contain it. */
  #read(): void {
    const { state } = this.session.getConnection();
    if (this.#reading !== null || state === "failed" || state === "deleted") return;
    const reading = new AbortController();
    this.#reading = reading;
    const loop = async (): Promise<void> => {
      for await (const update of this.session.updates({ signal: reading.signal })) this.#take(update);
    };
    // The connection state reports failures. Reading starts again after it recovers.
    void loop()
      .catch((error: unknown) => {
        if (!(error instanceof ColloquyError)) throw error;
      })
      .finally(() => {
        if (this.#reading !== reading) return;
        this.#reading = null;
        // Stopping the session removed its subscribers, but the subscribers of this object are still mounted.
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
