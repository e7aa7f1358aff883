import type { PendingAction } from "@colloquy/protocol";
import { parseEventId } from "../core/event-id.ts";
import type { EventStore } from "../core/ports/driven/event-store.ts";
import type { EventSource } from "./event-text.ts";
import type { StreamingText } from "./streaming-texts.ts";

/** The position of a session's event log, as its event streams need it. */
export interface StreamPosition {
  /** The session's id as events carry it. */
  readonly spelling: string;
  readonly life: string;
  /** Sequence number of the last event. */
  readonly head: number;
  /** The App that the session belongs to. */
  readonly app: string;
  readonly epoch: number;
  /** The agent message that streams, with its text at the time of the read. */
  readonly streaming: StreamingText | null;
  /** Actions that wait for a decision, oldest first. */
  readonly pendingActions: readonly PendingAction[];
}

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
