// The developer panel's own event stream: it shows ids as sent, and starts with all events that the service
// still stores, which the chat's stream never requests.

import { createEventStreamParser, takeStreamSlot, type Frame } from "@colloquy/client";
import { cleared, EMPTY_LOG, appendFrames, type EventLog } from "./event-log.ts";

export interface EventStreamState {
  readonly log: EventLog;
  /** `waiting`: the stream was lost and reopens soon. `over`: the service refused it, or the session was deleted. */
  readonly connection: "connecting" | "live" | "waiting" | "over";
  /** Reason for `waiting` or `over` as a sentence; `null` if there is no problem. */
  readonly problem: string | null;
}

export interface EventStreamOptions {
  readonly sessionId: string;
  readonly fetch: typeof globalThis.fetch;
  /** Key of the session's App, `null` for none. */
  readonly key: string | null;
  /** Schedules a callback and returns a function that cancels it. */
  readonly after?: (ms: number, callback: () => void) => () => void;
  /** Takes one of the browser's slots for streams; `null` if all are taken. */
  readonly takeSlot?: () => Promise<(() => void) | null>;
}

/**
 * Milliseconds of silence after which the connection counts as dead. The service sends a heartbeat every 15
 * seconds.
 */
const SILENCE_MS = 40_000;
const RETRY_MS = 2_000;

/** An event stream that is open while it has subscribers and resumes from the last id. Fits `useSyncExternalStore`. */
export class EventStream {
  readonly #options: Required<EventStreamOptions>;
  readonly #listeners = new Set<() => void>();
  #state: EventStreamState = { log: EMPTY_LOG, connection: "connecting", problem: null };
  #open: AbortController | null = null;

  constructor(options: EventStreamOptions) {
    this.#options = { after: onPageTimer, takeSlot: takeStreamSlot, ...options };
  }

  readonly getSnapshot = (): EventStreamState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#open === null && this.#state.connection !== "over") this.again();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#open?.abort();
      this.#open = null;
    };
  };

  /** Reconnects, also after `over`. */
  again(): void {
    this.#open?.abort();
    const open = new AbortController();
    this.#open = open;
    void this.#follow(open.signal);
  }

  clear(): void {
    this.#set({ log: cleared(this.#state.log) });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#set({ connection: "connecting", problem: null });
      const problem = await this.#once(signal).catch(() => "The connection was lost.");
      if (signal.aborted || this.#state.connection === "over") return;
      this.#set({ connection: "waiting", problem });
      await this.#pause(signal);
    }
  }

  /** Resolves when the next connection is due, or when there are no subscribers. */
  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        stop();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const stop = this.#options.after(RETRY_MS, end);
      signal.addEventListener("abort", end);
    });
  }

  /** Runs one connection to its end. Returns why it ended. */
  async #once(signal: AbortSignal): Promise<string> {
    const { sessionId, key, fetch, after, takeSlot } = this.#options;
    const freeSlot = await takeSlot();
    if (freeSlot === null) return "Other tabs use all live connections that this browser may open.";
    const silent = new AbortController();
    let stopWatch = after(SILENCE_MS, () => silent.abort());
    try {
      // Relative to the page, which may be mounted under a path.
      const response = await fetch("api/updates?include=tools%2Cmessages%2Cstate", {
        headers: {
          "X-Session-Id": sessionId,
          Accept: "text/event-stream",
          "Last-Event-ID": this.#state.log.lastId ?? "0",
          ...(key !== null && { "SERVICE-APP-KEY": key }),
        },
        signal: AbortSignal.any([signal, silent.signal]),
      });
      if (!response.ok || response.body === null) return await this.#refused(response);
      const reader = response.body.getReader();
      const frames: Frame[] = [];
      const parse = createEventStreamParser((frame) => void frames.push(frame));
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "The stream ended.";
        stopWatch();
        stopWatch = after(SILENCE_MS, () => silent.abort());
        parse(value);
        if (!signal.aborted) this.#take(frames.splice(0));
      }
    } finally {
      stopWatch();
      freeSlot();
    }
  }

  #take(frames: readonly Frame[]): void {
    const log = appendFrames(this.#state.log, frames, Date.now());
    this.#set({ log, connection: "live", problem: null });
    // Requesting the stream of a deleted session would create it again.
    if (frames.some(({ data }) => data !== null && endsTheSession(data)))
      this.#set({ connection: "over", problem: "The session was deleted." });
  }

  async #refused(response: Response): Promise<string> {
    const problem: unknown = await response.json().catch(() => null);
    const { detail } = (problem ?? {}) as { readonly detail?: unknown };
    const text = typeof detail === "string" ? detail : `The service answered with status ${response.status}.`;
    const isPassing = response.status >= 500 || response.status === 408 || response.status === 429;
    if (!isPassing) this.#set({ connection: "over", problem: text });
    return text;
  }

  #set(changes: Partial<EventStreamState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

function endsTheSession(data: string): boolean {
  try {
    const event = JSON.parse(data) as { readonly type?: unknown; readonly code?: unknown } | null;
    return event?.type === "system_notice" && event.code === "session_deleted";
  } catch {
    return false;
  }
}

function onPageTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
