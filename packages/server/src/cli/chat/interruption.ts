// What Ctrl-C means at the moment: it gives up what is being asked of the service, stops the answer that is being made, or leaves.

import type { LiveSession } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import type { ExitCode } from "../command.ts";

export interface InterruptionListener {
  readonly onLeave: (code: ExitCode) => void;
  /** The service could not be asked to stop the answer. */
  readonly onFailure: (error: unknown) => void;
}

export class Interruption {
  readonly #listener: InterruptionListener;
  #request: AbortController | null = null;
  /** The message that is on its way. */
  #message: string | null = null;
  /** The message that was on its way when Ctrl-C came: if it got there, its answer is to be stopped. */
  #unwanted: string | null = null;
  #stopping: "no" | "asked" | "failed" = "no";

  constructor(listener: InterruptionListener) {
    this.#listener = listener;
  }

  /** Whether the answer goes on, because the service could not be asked to stop it. */
  get hasFailed(): boolean {
    return this.#stopping === "failed";
  }

  /** Whether this is the answer to a message that was given up on its way, and not to what somebody else has said since. */
  isUnwanted({ messages }: Snapshot): boolean {
    const last = messages.findLast(({ sender }) => sender === "user");
    return this.#unwanted !== null && last?.content.trim() === this.#unwanted;
  }

  /** A request that Ctrl-C gives up, from now to `end`; `message` is what it says to the assistant. */
  begin(message: string | null): AbortSignal {
    this.#request = new AbortController();
    this.#message = message?.trim() ?? null;
    if (message !== null) this.#unwanted = null;
    return this.#request.signal;
  }

  end(): void {
    this.#request = null;
    this.#message = null;
  }

  giveUp(why: string): void {
    this.#request?.abort(new Error(why));
  }

  /** The next Ctrl-C is the first one again. */
  forget(): void {
    this.#stopping = "no";
  }

  /** Ctrl-C while nothing is typed: stops what is going on, and leaves when that does not help. */
  press(session: LiveSession): void {
    if (this.#request !== null) {
      this.#unwanted = this.#message;
      return this.giveUp("given up");
    }
    this.#unwanted = null;
    const isBusy = session.getSnapshot()?.is_processing === true;
    if (!isBusy || this.#stopping !== "no") return this.#listener.onLeave(isBusy ? 130 : 0);
    this.#stopping = "asked";
    void session.interrupt().catch((error: unknown) => {
      this.#stopping = "failed";
      this.#listener.onFailure(error);
    });
  }
}
