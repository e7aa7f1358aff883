import type { NumberedEvent } from "../../session-event.ts";

/** Maximum JSON characters of a page, the same as of a subscriber's buffer. */
export const EVENT_PAGE_CHARACTERS = 256 * 1024;

/** Maximum UTF-8 bytes of a session's log as JSON, regardless of its retention by count and age. */
export const EVENT_LOG_MAX_BYTES = 8 * 1024 * 1024;
/** Size to which a log is cut when it exceeds the maximum, in bytes: one cut per 2 MiB of new events. */
export const EVENT_LOG_CUT_BYTES = 6 * 1024 * 1024;

/** A page of a session's log. */
export interface EventPage {
  readonly life: string;
  readonly head: number;
  /** Number of the last removed event; 0 if none was removed. */
  readonly floor: number;
  /** The events after the requested number, without gaps. */
  readonly events: readonly NumberedEvent[];
}

export interface EventStore {
  /** Returns up to `limit` events after number `after`, ending with the one that exceeds 256 KiB; `null` if there is no such session. */
  after(sessionId: string, after: number, limit: number): Promise<EventPage | null>;
  /**
   * Removes events that are neither among the last `keepCount` of their session nor younger than `keepAfter` (milliseconds since the epoch),
   * of up to `limit` sessions; returns how many it trimmed. Each call continues where the last one ended.
   */
  trim(input: {
    readonly keepCount: number;
    readonly keepAfter: number;
    readonly limit: number;
  }): Promise<number>;
}
