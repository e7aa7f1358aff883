import type { Bus, SessionNote } from "../core/ports/bus.ts";
import type { Logger } from "../core/ports/logger.ts";

type Listener = (sessionId: string, note: SessionNote) => void;

/** The bus of a service that is one process: a publish calls every listener before it returns. */
export class InProcessBus implements Bus {
  readonly #listeners = new Set<Listener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  publish(sessionId: string, note: SessionNote): void {
    for (const listener of this.#listeners) {
      try {
        listener(sessionId, note);
      } catch (error) {
        // What was committed stays committed: a listener that fails must not fail the one who announces.
        this.#logger.error({ err: error, kind: note.kind }, "a listener of the bus failed");
      }
    }
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
