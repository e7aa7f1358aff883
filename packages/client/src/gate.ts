import { reasonOf, throwIfAborted } from "./linked-abort.ts";

/** Blocks callers until it is opened, permanently. */
export class Gate {
  #isOpen = false;
  readonly #waiting = new Set<() => void>();

  open(): void {
    this.#isOpen = true;
    for (const pass of this.#waiting) pass();
    this.#waiting.clear();
  }

  /** Rejects with the signal's reason. */
  passed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      throwIfAborted(signal);
      if (this.#isOpen) {
        resolve();
        return;
      }
      const onAbort = (): void => {
        this.#waiting.delete(pass);
        reject(reasonOf(signal));
      };
      const pass = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(pass);
    });
  }
}
