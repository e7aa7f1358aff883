import { resync } from "./difference.ts";
import type { SessionUpdate } from "./fold.ts";

/** Maximum number of queued events. Beyond it a single `resync` notice replaces them. */
const MAX_QUEUED = 1_000;

/** Queue of events for one `for await` loop. */
export class UpdateQueue {
  #waiting: SessionUpdate[] = [];
  /** How the queue ended; `null` before. Queued events are returned first. */
  #end: { readonly error: Error | null } | null = null;
  /** Wakes all callers of `next`. */
  #notifyWaiting = (): void => undefined;

  push(updates: readonly SessionUpdate[]): void {
    const waiting = [...this.#waiting, ...updates];
    const [first] = waiting;
    this.#waiting = first !== undefined && waiting.length > MAX_QUEUED ? [resync(first.session_id)] : waiting;
    this.#wake();
  }

  /** Ends the loop; throws there unless `error` is `null`. */
  end(error: Error | null): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Returns the next event; `null` at the end. */
  async next(): Promise<SessionUpdate | null> {
    for (;;) {
      const update = this.#waiting.shift();
      if (update !== undefined) return update;
      if (this.#end !== null) {
        const { error } = this.#end;
        this.#end = { error: null };
        if (error !== null) throw error;
        return null;
      }
      await new Promise<void>((resolve) => {
        const notifyOthers = this.#notifyWaiting;
        this.#notifyWaiting = () => {
          notifyOthers();
          resolve();
        };
      });
    }
  }

  #wake(): void {
    const notify = this.#notifyWaiting;
    this.#notifyWaiting = () => undefined;
    notify();
  }
}
