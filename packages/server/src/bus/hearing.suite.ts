// Notes for the tests of the bus, and somebody who hears them.

import type { Bus, Origin, SessionNote } from "../core/ports/bus.ts";

export interface Heard {
  readonly sessionId: string;
  readonly note: SessionNote;
  readonly origin: Origin;
}

/** Listens to a bus and remembers. */
export class Hearing {
  readonly notes: Heard[] = [];
  rings = 0;
  resumed = 0;
  readonly #waiting = new Set<() => void>();

  constructor(bus: Bus) {
    bus.listen({
      onNote: (sessionId, note, origin) => {
        this.notes.push({ sessionId, note, origin });
        this.#look();
      },
      onWork: () => {
        this.rings += 1;
        this.#look();
      },
      onResumed: () => {
        this.resumed += 1;
        this.#look();
      },
    });
  }

  /** Resolves when it is so, now or after something more was heard. */
  until(isSo: (hearing: Hearing) => boolean): Promise<void> {
    if (isSo(this)) return Promise.resolve();
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo(this)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }

  /** The text from this offset on, as far as the deltas that were heard follow each other. */
  text(offset: number): string {
    let text = "";
    for (const { note } of this.notes) {
      if (note.kind === "delta" && note.offset === offset + text.length) text += note.text;
    }
    return text;
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}

/** One event with this number. */
export function eventsNote(
  number: number,
  title = "A title",
): Extract<SessionNote, { readonly kind: "events" }> {
  return {
    kind: "events",
    life: "a",
    epoch: 1,
    events: [{ number, event: { type: "title_changed", new_title: title } }],
  };
}

export function delta(offset: number, text: string): Extract<SessionNote, { readonly kind: "delta" }> {
  return { kind: "delta", life: "a", epoch: 1, messageId: "m", offset, text };
}
