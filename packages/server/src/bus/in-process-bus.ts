import type { Bus, BusListener, Following, SessionNote } from "../core/ports/bus.ts";
import type { Logger } from "../core/ports/logger.ts";

const FOLLOWED: Following = { ready: Promise.resolve(), stop: () => undefined };

/** The bus of a service that is one process: a publish calls every listener before it returns. */
export class InProcessBus implements Bus {
  readonly #listeners = new Set<BusListener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  publish(sessionId: string, note: SessionNote): void {
    for (const listener of this.#listeners) {
      try {
        listener.onNote(sessionId, note, "here");
      } catch (error) {
        // What was committed stays committed: a listener that fails must not fail the one who announces.
        this.#logger.error({ err: error, kind: note.kind }, "a listener of the bus failed");
      }
    }
  }

  ring(): void {
    // Nobody else is there to be told.
  }

  listen(listener: BusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  follow(): Following {
    return FOLLOWED;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
