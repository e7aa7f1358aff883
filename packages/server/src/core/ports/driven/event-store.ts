import type { NumberedEvent } from "../../session-event.ts";

/** Characters of JSON after which a page ends: at most what a subscriber may leave undrained. */
export const EVENT_PAGE_CHARACTERS = 256 * 1024;

/** Maximum UTF-8 bytes of a session's log as JSON; overrides the retention by count and age. */
export const EVENT_LOG_MAX_BYTES = 8 * 1024 * 1024;

/** Bytes left after a log exceeded the cap, so that it is cut once per 2 MiB of new events. */
export const EVENT_LOG_CUT_BYTES = 6 * 1024 * 1024;

/** A page of a session's log. */
export interface EventPage {
  readonly life: string;
  /** Number of the last event of the session. */
  readonly head: number;
  /** Events up to and including this number were removed. */
  readonly floor: number;
  /** The events after the requested number, without gaps. */
  readonly events: readonly NumberedEvent[];
}

export interface EventStore {
  /**
   * Returns up to `limit` events after number `after`; a page ends with the event that exceeds 256 KiB. `null` if there is no
   * such session.
   */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Removes events that are neither among the last `keepCount` of their session nor younger than `keepAfter` (milliseconds since
   * the epoch), of up to `limit` sessions. Examines a portion of the sessions with long logs per call and continues there next time. Returns how
   * many sessions it trimmed.
   */
  trim(input: {
    readonly keepCount: number;
    readonly keepAfter: number;
    readonly limit: number;
  }): Promise<number>;
}
