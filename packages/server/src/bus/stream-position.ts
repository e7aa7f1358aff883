import { parseEventId } from "../core/session-event.ts";
import type { EventStore } from "../core/ports/driven/event-store.ts";
import type { EventSource } from "./event-text.ts";

/**
 * Returns the sequence number after which a stream starts, or `null` if the client must fetch the snapshot
 * again (contract section 5).
 */
export async function resolveStart(
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
  // If this incarnation ended meanwhile, no resync is needed: the stream is about to report
  // `session_deleted`.
  const isOver = page === null || page.life !== source.life;
  return isOver || page.floor <= id.n ? id.n : null;
}
