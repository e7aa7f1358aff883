// One live session per id, however many hooks below a provider show it.

import type { Client, LiveSession, ToolHandlers } from "@colloquy/client";
import { SharedSession, type Progress, type SessionSummary } from "./shared-session.ts";

export type SessionObserver = (summary: SessionSummary, before: SessionSummary | null) => void;

/** Number of sessions without subscribers that are kept for a later return. */
const MAX_IDLE = 20;

export class SessionPool {
  readonly #client: Client;
  readonly #messages: number | undefined;
  readonly #observers = new Set<SessionObserver>();
  /** Run in every session that is shown. */
  readonly #tools = new Set<ToolHandlers>();
  /** Ordered by when they were last left. */
  readonly #sessions = new Map<string, SharedSession>();

  /** `messages` is the number of latest messages that a session loads; `undefined` loads all. */
  constructor(client: Client, messages: number | undefined) {
    this.#client = client;
    this.#messages = messages;
  }

  /** Returns the session with this id: the same object for all callers. */
  session(id: string): LiveSession {
    return this.#held(id).session;
  }

  /** Returns the progress of running tools by call id. The same object until it changes. */
  progress(id: string): Progress {
    return this.#held(id).progress;
  }

  /** Follows the session and calls back on every change. Returns a function that unsubscribes. */
  subscribe(id: string, listener: () => void): () => void {
    const held = this.#held(id);
    const leave = held.subscribe(listener);
    return () => {
      leave();
      this.#sessions.delete(held.session.id);
      this.#sessions.set(held.session.id, held);
    };
  }

  /**
   * Calls back when a followed session changes its title or newest message, or is deleted. Returns a function
   * that unsubscribes.
   */
  observe(observer: SessionObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** Runs these tools in all sessions while they are shown. Returns a function that ends it. */
  runTools(handlers: ToolHandlers): () => void {
    this.#tools.add(handlers);
    this.#changeTools();
    return () => {
      this.#tools.delete(handlers);
      this.#changeTools();
    };
  }

  #changeTools(): void {
    for (const held of this.#sessions.values()) held.changeTools();
  }

  #held(id: string): SharedSession {
    const key = id.toLowerCase();
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const session = this.#client.session(key, { messages: this.#messages });
    const held = new SharedSession(session, this.#tools, (summary, before) => {
      for (const observer of this.#observers) observer(summary, before);
    });
    this.#sessions.set(key, held);
    this.#forget(key);
    return held;
  }

  /**
   * Drops the sessions without subscribers that were left longest ago, except `newest`, which is about to be
   * shown.
   */
  #forget(newest: string): void {
    const idle = [...this.#sessions].filter(([id, held]) => !held.isShown && id !== newest);
    for (const [id] of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) this.#sessions.delete(id);
  }
}
