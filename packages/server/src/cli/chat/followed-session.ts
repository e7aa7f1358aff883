// A session that is followed: everything that happens in it becomes pieces for the screen.

import { ColloquyError, type Connection, type LiveSession, type SendOptions } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import { harmlessLine } from "../harmless-text.ts";
import { type Piece, type Tone, Transcript } from "./transcript.ts";

export interface FollowListener {
  /** Something has happened; what of it is to be shown, if anything. */
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

  /** Why it cannot be followed any more; `null` while it is. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Shows what was said last, and follows from there. */
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

  /** Sends what was typed; answers when its effect has come here. */
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
      // Its event comes before that of the work which it begins.
      const hasBegun = snapshot.is_processing || this.#stateChanges > before;
      return (
        hasBegun ||
        snapshot.messages.slice(at).some(({ sender, status }) => sender === "agent" && status !== "streaming")
      );
    };
    await this.until(hasEffect, options.signal);
  }

  /** Resolves when something has happened. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when it holds, or when nothing will happen any more; `stop` ends it, too. Throws when the signal comes before. */
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

  /** Whoever waits shall look again. */
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
          ...this.#transcript.pass(update),
          ...(snapshot === null ? [] : this.#transcript.take(snapshot)),
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

  /** Says once that the service is away, and once that it is back. */
  #connection({ state, error }: Connection): void {
    if (this.#end.signal.aborted) return;
    if (state === "waiting" && !this.#isCutOff && error instanceof ColloquyError) {
      this.#isCutOff = true;
      this.#listener.onConnection("quiet", "(the service cannot be reached; trying again)");
    } else if ((state === "live" || state === "polling") && this.#isCutOff) {
      this.#isCutOff = false;
      this.#listener.onConnection("quiet", "(the service is back)");
    }
  }
}
