// Decides what Ctrl-C does: cancel the pending request, interrupt the answer, or leave.

import type { LiveSession } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import type { ExitCode } from "../command.ts";

export interface InterruptionListener {
  readonly onLeave: (code: ExitCode) => void;
  /** The request to interrupt the answer failed. */
  readonly onFailure: (error: unknown) => void;
}

export class Interruption {
  readonly #listener: InterruptionListener;
  #request: AbortController | null = null;
  /** The message that is being sent. */
  #message: string | null = null;
  /** The message that was being sent on Ctrl-C. If it arrived anyway, its answer is interrupted. */
  #unwanted: string | null = null;
  #stopping: "no" | "asked" | "failed" = "no";

  constructor(listener: InterruptionListener) {
    this.#listener = listener;
  }

  /** True if the answer continues because interrupting it failed. */
  get hasFailed(): boolean {
    return this.#stopping === "failed";
  }

  /** Returns true if the current answer is to a canceled message, and not to a later message of someone else. */
  isUnwanted({ messages }: Snapshot): boolean {
    const last = messages.findLast(({ sender }) => sender === "user");
    return this.#unwanted !== null && last?.content.trim() === this.#unwanted;
  }

  /** Starts a request that Ctrl-C cancels until `end` is called. `message` is the message that it sends, if any. */
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

  cancel(reason: string): void {
    this.#request?.abort(new Error(reason));
  }

  /** Makes the next Ctrl-C count as the first one. */
  reset(): void {
    this.#stopping = "no";
  }

  /** Handles Ctrl-C outside input: cancels or interrupts, and leaves on the second press. */
  press(session: LiveSession): void {
    if (this.#request !== null) {
      this.#unwanted = this.#message;
      return this.cancel("canceled");
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
