// Follows a session and turns its updates into pieces for the screen.

import { ColloquyError, type Connection, type LiveSession, type SendOptions } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import { harmlessLine } from "../terminal-text.ts";
import { type Piece, type Tone, Transcript } from "./transcript.ts";

export interface FollowListener {
  /** Called after each update with the pieces to show, possibly none. */
  readonly onPieces: (pieces: readonly Piece[]) => void;
  readonly onConnection: (tone: Tone, text: string) => void;
}

export class FollowedSession {
  readonly session: LiveSession;
  readonly #listener: FollowListener;
  readonly #transcript = new Transcript();
  readonly #end = new AbortController();
  #failure: Error | null = null;
  #changed = Promise.withResolvers<void>();
  #isCutOff = false;
  #stateChanges = 0;

  constructor(session: LiveSession, listener: FollowListener) {
    this.session = session;
    this.#listener = listener;
  }

  /** Why following ended; `null` while it continues. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Shows the latest messages and starts following. */
  async begin(): Promise<Snapshot> {
    const snapshot = await this.session.refresh({ signal: this.#end.signal });
    const title: Piece = { kind: "line", tone: "quiet", text: `(${harmlessLine(snapshot.title)})` };
    const history = this.#transcript.begin(snapshot);
    this.#listener.onPieces(snapshot.messages.length === 0 ? [] : [title, ...history]);
    const updates = this.session.updates({ signal: this.#end.signal });
    this.session.subscribe(() => this.#connection(this.session.getConnection()));
    void this.#read(updates);
    return snapshot;
  }

  /** Shows the messages before the first one that was shown. Returns false if there are none. */
  async showEarlier(signal: AbortSignal): Promise<boolean> {
    const isLoaded = (): boolean => this.#transcript.hasEarlier(this.session.getSnapshot());
    if (!isLoaded()) await this.session.loadEarlier({ signal });
    const snapshot = this.session.getSnapshot();
    if (snapshot === null || !isLoaded()) return false;
    this.#listener.onPieces(this.#transcript.earlier(snapshot));
    return true;
  }

  /** Sends a message and resolves when the updates show its effect. */
  async send(text: string, options: SendOptions): Promise<void> {
    const before = this.#stateChanges;
    this.#transcript.typed(text);
    const sent = await this.session.send(text, options).catch((error: unknown) => {
      this.#transcript.untyped();
      throw error;
    });
    const own = sent.messages.findLast(({ sender }) => sender === "user")?.id;
    const hasEffect = (): boolean => {
      const snapshot = this.session.getSnapshot();
      const at = snapshot?.messages.findIndex(({ id }) => id === own) ?? -1;
      if (snapshot === null || at < 0) return false;
      // The message event precedes the state change of the turn that it starts.
      const hasStarted = snapshot.is_processing || this.#stateChanges > before;
      return (
        hasStarted ||
        snapshot.messages.slice(at).some(({ sender, status }) => sender === "agent" && status !== "streaming")
      );
    };
    await this.until(hasEffect, options.signal);
  }

  /** Resolves on the next change. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when the condition holds, the session has ended or `stop` is called. Throws if `signal` aborts first. */
  async until(condition: () => boolean, signal?: AbortSignal): Promise<void> {
    const look = (): void => this.wake();
    signal?.addEventListener("abort", look);
    try {
      while (!condition() && this.#failure === null && !this.#end.signal.aborted) {
        signal?.throwIfAborted();
        await this.changed();
      }
    } finally {
      signal?.removeEventListener("abort", look);
    }
  }

  /** Makes all waiters check their conditions again. */
  wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  stop(): void {
    this.#end.abort(new Error("stopped"));
    this.session.stop();
    this.wake();
  }

  async #read(updates: ReturnType<LiveSession["updates"]>): Promise<void> {
    try {
      for await (const update of updates) {
        const snapshot = this.session.getSnapshot();
        const pieces = [
          ...this.#transcript.showUpdate(update),
          ...(snapshot === null ? [] : this.#transcript.showSnapshot(snapshot)),
        ];
        if (this.#end.signal.aborted) return;
        if (update.type === "state_changed") this.#stateChanges += 1;
        this.#listener.onPieces(pieces);
        this.wake();
      }
      this.#failure = new Error("The conversation was deleted.");
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
    this.wake();
  }

  /** Reports once that the connection is lost and once that it is restored. */
  #connection({ state, error }: Connection): void {
    if (this.#end.signal.aborted) return;
    if (state === "waiting" && !this.#isCutOff && error instanceof ColloquyError) {
      this.#isCutOff = true;
      this.#listener.onConnection("quiet", "(connection lost; reconnecting)");
    } else if ((state === "live" || state === "polling") && this.#isCutOff) {
      this.#isCutOff = false;
      this.#listener.onConnection("quiet", "(reconnected)");
    }
  }
}
