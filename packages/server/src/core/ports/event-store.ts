import type { NumberedEvent } from "../session-event.ts";

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
  /** Up to `limit` events after number `after`; `null` when there is no such session. */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Removes events that are neither among the last `keepCount` of their session nor younger than `keepAfter` (milliseconds since
   * the epoch), of up to `limit` sessions. Answers how many sessions it trimmed.
   */
  trim(input: {
    readonly keepCount: number;
    readonly keepAfter: number;
    readonly limit: number;
  }): Promise<number>;
}
