import type { NumberedEvent } from "../../session-event.ts";

/** Characters of JSON after which a page ends, so that a reader is never sent more at once than it may leave undrained. */
export const EVENT_PAGE_CHARACTERS = 256 * 1024;

/** UTF-8 bytes of JSON that the log of one session keeps at most. This cap wins over the retention by count and age. */
export const EVENT_LOG_MAX_BYTES = 8 * 1024 * 1024;

/** Bytes left in a log that went over the cap, so that it is cut once in 2 MiB of new events. */
export const EVENT_LOG_CUT_BYTES = 6 * 1024 * 1024;

/** A page of a session's log. */
export interface EventPage {
  readonly life: string;
  /** Number of the last event of the session. */
  readonly head: number;
  /** Events up to and with this number are no longer kept. */
  readonly floor: number;
  /** Those after the asked number, in order, gap-free. */
  readonly events: readonly NumberedEvent[];
}

export interface EventStore {
  /**
   * Up to `limit` events after number `after`, fewer where they are large: a page ends with the event that brings it over 256 KiB.
   * `null` when there is no such session.
   */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Removes events that are neither among the last `keepCount` of their session nor younger than `keepAfter` (milliseconds since
   * the epoch), of up to `limit` sessions. Looks at a portion of the sessions with long logs and goes on behind it the next time. Answers how many
   * sessions it trimmed.
   */
  trim(input: {
    readonly keepCount: number;
    readonly keepAfter: number;
    readonly limit: number;
  }): Promise<number>;
}
