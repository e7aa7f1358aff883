import type { BusListener, Origin, SessionNote } from "../core/ports/driven/bus.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

/**
 * The bus listeners of this process. A listener that throws is logged and affects neither the others nor the
 * publisher.
 */
export class Listeners {
  readonly #listeners = new Set<BusListener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns a function that removes the listener. */
  add(listener: BusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  note(sessionId: string, note: SessionNote, origin: Origin): void {
    this.#tell(note.kind, (listener) => listener.onNote(sessionId, note, origin));
  }

  work(): void {
    this.#tell("work", (listener) => listener.onWork?.());
  }

  resumed(): void {
    this.#tell("resumed", (listener) => listener.onResumed?.());
  }

  #tell(kind: string, call: (listener: BusListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        call(listener);
      } catch (error) {
        // The change is already committed, so a failing listener must not fail the publisher.
        this.#logger.error({ err: error, kind }, "a listener of the bus failed");
      }
    }
  }
}
