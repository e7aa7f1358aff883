// Sample notifications and a recording listener for bus tests.

import type { BusListener, SessionNotification } from "@colloquy/engine/internal/core/ports/driven/bus";
import type { HubListener, Place } from "@colloquy/engine/internal/core/ports/driven/event-hub";

export interface ReceivedNotification {
  readonly sessionId: string;
  readonly notification: SessionNotification;
  readonly origin: Place;
}

/** A listener of a bus or a hub that counts and stores everything it receives. */
export class RecordingListener {
  readonly notifications: ReceivedNotification[] = [];
  workNotices = 0;
  resumed = 0;
  readonly #waiting = new Set<() => void>();

  constructor(source: { listen(listener: BusListener & HubListener): unknown }) {
    source.listen({
      onNotification: (sessionId, notification, origin: Place = "elsewhere") => {
        this.notifications.push({ sessionId, notification, origin });
        this.#notifyWaiters();
      },
      onWork: () => {
        this.workNotices += 1;
        this.#notifyWaiters();
      },
      onResumed: () => {
        this.resumed += 1;
        this.#notifyWaiters();
      },
    });
  }

  /** Resolves when the predicate returns true. */
  until(holds: (received: RecordingListener) => boolean): Promise<void> {
    if (holds(this)) return Promise.resolve();
    return new Promise((resolve) => {
      const check = (): void => {
        if (!holds(this)) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }

  /** Concatenates the consecutive deltas from this offset on. */
  text(offset: number): string {
    let text = "";
    for (const { notification } of this.notifications) {
      if (notification.kind === "delta" && notification.offset === offset + text.length)
        text += notification.text;
    }
    return text;
  }

  #notifyWaiters(): void {
    for (const check of this.#waiting) check();
  }
}

export function eventsNotification(
  number: number,
  title = "A title",
): Extract<SessionNotification, { readonly kind: "events" }> {
  return {
    kind: "events",
    incarnation: "a",
    epoch: 1,
    events: [{ number, event: { type: "title_changed", new_title: title } }],
  };
}

export function delta(
  offset: number,
  text: string,
): Extract<SessionNotification, { readonly kind: "delta" }> {
  return { kind: "delta", incarnation: "a", epoch: 1, messageId: "m", offset, text };
}
