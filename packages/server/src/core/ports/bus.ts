// How the parts of a service hear of what was committed. The bus only hints: a note that is lost costs time, never an event,
// because readers mend gaps from the store.

import type { NumberedEvent } from "../session-event.ts";

export type SessionNote =
  | { readonly kind: "events"; readonly life: string; readonly events: readonly NumberedEvent[] }
  | {
      readonly kind: "delta";
      readonly life: string;
      readonly messageId: string;
      /** Characters of the message before `text`. */
      readonly offset: number;
      readonly text: string;
    }
  | { readonly kind: "deleted"; readonly life: string };

export interface Bus {
  /** Tells every listener of every process. Never blocks and never throws. */
  publish(sessionId: string, note: SessionNote): void;
  /** Calls `listener` for each note, in the order in which one process published them. Answers how to stop. */
  listen(listener: (sessionId: string, note: SessionNote) => void): () => void;
}
