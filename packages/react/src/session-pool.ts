// One live session an id, however many hooks below a provider show it.

import type { Client, LiveSession } from "@colloquy/client";
import { HeldSession, type Progress, type SessionSummary } from "./held-session.ts";

export type SessionObserver = (summary: SessionSummary, before: SessionSummary | null) => void;

/** Sessions that nobody shows are remembered for who comes back to them, so many of them. */
const REMEMBERED = 20;

export class SessionPool {
  readonly #client: Client;
  readonly #observers = new Set<SessionObserver>();
  /** The one that was left last comes last. */
  readonly #sessions = new Map<string, HeldSession>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** The session with this id: the same object for everybody. */
  session(id: string): LiveSession {
    return this.#held(id).session;
  }

  /** What tools that run have told of themselves, by the id of their call. The same object until it changes. */
  progress(id: string): Progress {
    return this.#held(id).progress;
  }

  /** Follows the session from now on, and calls back when anything of it is new. Answers what ends this. */
  subscribe(id: string, listener: () => void): () => void {
    const held = this.#held(id);
    const leave = held.subscribe(listener);
    return () => {
      leave();
      this.#sessions.delete(held.session.id);
      this.#sessions.set(held.session.id, held);
    };
  }

  /** Calls back when a session that somebody shows has another title or newest message, or is gone. Answers what ends this. */
  observe(observer: SessionObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  #held(id: string): HeldSession {
    const key = id.toLowerCase();
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const held = new HeldSession(this.#client.session(key), (summary, before) => {
      for (const observer of this.#observers) observer(summary, before);
    });
    this.#sessions.set(key, held);
    this.#forget(key);
    return held;
  }

  /** Lets go of those that nobody has shown for longest. The newest is about to be shown. */
  #forget(newest: string): void {
    const idle = [...this.#sessions].filter(([id, held]) => !held.isShown && id !== newest);
    for (const [id] of idle.slice(0, Math.max(0, idle.length - REMEMBERED))) this.#sessions.delete(id);
  }
}
