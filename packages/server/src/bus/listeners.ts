import type { BusListener, Origin, SessionNote } from "../core/ports/bus.ts";
import type { Logger } from "../core/ports/logger.ts";

/** Those in this process who listen to the bus. One that fails is logged, and disturbs neither the others nor the one who announces. */
export class Listeners {
  readonly #listeners = new Set<BusListener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Answers how to stop. */
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
        // What was committed stays committed, whoever cannot take the news of it.
        this.#logger.error({ err: error, kind }, "a listener of the bus failed");
      }
    }
  }
}
