import { parseEventId } from "../core/event-id.ts";
import type { EventStore } from "../core/ports/event-store.ts";
import type { EventSource } from "./event-text.ts";
import type { StreamingText } from "./streaming-texts.ts";

/** Where a session stands for whoever reads its events. */
export interface StreamPosition {
  readonly life: string;
  /** Number of its last event. */
  readonly head: number;
  /** The App that it counts as. */
  readonly app: string;
  /** The session's epoch. */
  readonly epoch: number;
  /** The answer that streams, as far as it was said then. */
  readonly streaming: StreamingText | null;
}

/** The number after which a stream begins, `null` when the client has to fetch the snapshot again (contract section 5). */
export async function placeAfter(
  events: EventStore,
  source: EventSource,
  lastEventId: string | null,
  head: number,
): Promise<number | null> {
  if (lastEventId === null) return head;
  const id = lastEventId === "0" ? { life: source.life, n: 0 } : parseEventId(lastEventId);
  if (id === null || id.life !== source.life || id.n > head) return null;
  if (id.n === head) return head;
  const page = await events.after(source.sessionId, id.n, 0);
  // A life that ended meanwhile is not a place that was lost: its stream is about to be told that the session is deleted.
  const isOver = page === null || page.life !== source.life;
  return isOver || page.floor <= id.n ? id.n : null;
}
