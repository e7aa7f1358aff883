import { resync } from "./difference.ts";
import type { SessionUpdate } from "./fold.ts";

/** Events that wait for a loop to take them; beyond this it is told to look at the snapshot instead. */
const LONGEST = 1_000;

/** What one `for await` loop takes its events from. */
export class UpdateQueue {
  #waiting: SessionUpdate[] = [];
  /** How it ended, `null` before. What waits is taken first. */
  #end: { readonly error: Error | null } | null = null;
  /** Wakes everybody who waits in `next`. */
  #ring = (): void => undefined;

  push(updates: readonly SessionUpdate[]): void {
    const waiting = [...this.#waiting, ...updates];
    const [first] = waiting;
    this.#waiting = first !== undefined && waiting.length > LONGEST ? [resync(first.session_id)] : waiting;
    this.#wake();
  }

  /** Ends the loop, with a throw unless `error` is `null`. */
  end(error: Error | null): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** The next event; `null` at the end. */
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
        const ringOthers = this.#ring;
        this.#ring = () => {
          ringOthers();
          resolve();
        };
      });
    }
  }

  #wake(): void {
    const ring = this.#ring;
    this.#ring = () => undefined;
    ring();
  }
}
