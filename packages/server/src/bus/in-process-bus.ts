import type { Bus, BusListener, Following, SessionNotification } from "../core/ports/driven/bus.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { Listeners } from "./listeners.ts";

const FOLLOWED: Following = { ready: Promise.resolve(), stop: () => undefined };

/** The bus of a single-process service: `publish` calls every listener before it returns. */
export class InProcessBus implements Bus {
  readonly #listeners: Listeners;

  constructor(logger: Logger) {
    this.#listeners = new Listeners(logger);
  }

  publish(sessionId: string, notification: SessionNotification): void {
    this.#listeners.notify(sessionId, notification, "here");
  }

  notifyWork(): void {
    // There are no other processes.
  }

  listen(listener: BusListener): () => void {
    return this.#listeners.add(listener);
  }

  follow(): Following {
    return FOLLOWED;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
