import type { Origin, SessionNotification } from "../core/ports/driven/bus.ts";
import type { HubListener, LoadedSession, StreamingText } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

/**
 * The listeners of this process. A listener that throws is logged and affects neither the others nor the
 * publisher.
 */
export class Listeners {
  readonly #listeners = new Set<HubListener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns a function that removes the listener. */
  add(listener: HubListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(sessionId: string, notification: SessionNotification, origin: Origin): void {
    this.#tell(notification.kind, (listener) => listener.onNotification(sessionId, notification, origin));
  }

  work(): void {
    this.#tell("work", (listener) => listener.onWork?.());
  }

  resumed(): void {
    this.#tell("resumed", (listener) => listener.onResumed?.());
  }

  evicted(sessionId: string): void {
    this.#tell("evicted", (listener) => listener.onEvicted?.(sessionId));
  }

  answerLoaded(session: LoadedSession, streaming: StreamingText): void {
    this.#tell("answer loaded", (listener) => listener.onAnswerLoaded?.(session, streaming));
  }

  /** Returns each incarnation of the session that a listener knows, once. */
  incarnationsOf(sessionId: string): ReadonlySet<string> {
    return new Set([...this.#listeners].flatMap((listener) => listener.incarnationsOf?.(sessionId) ?? []));
  }

  #tell(kind: string, call: (listener: HubListener) => void): void {
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
