// Sessions and their messages in the store. One method is one transaction: what it answers is on disk. Times are on
// the store's clock. Methods that reach the store and find it failing reject with `Unavailable` (507 when the
// disk is full, 503 otherwise) and have then changed nothing, unless it is an `OutcomeUnknown`.

import type { ActionRecord } from "../../action.ts";
import type { MessageRecord } from "../../message.ts";
import type { NumberedEvent } from "../../session-event.ts";
import type { SessionRecord } from "../../session.ts";
import type { SystemEventRecord } from "../../session-event.ts";

/** A session as the store has it now: everything that a snapshot shows. */
export interface StoredSession {
  readonly session: SessionRecord;
  /** In the order of arrival. An agent message that is streaming has the text of its finished steps. */
  readonly messages: readonly MessageRecord[];
  /** The last 100, oldest first. */
  readonly systemEvents: readonly SystemEventRecord[];
  /** Actions that nobody has decided yet, oldest first. */
  readonly pendingActions: readonly ActionRecord[];
  /** Text that was streamed beyond the last finished step, as far as it was checkpointed. */
  readonly checkpointed: string;
}

/** What a transaction did to a session. */
export interface Committed<Outcome> {
  readonly outcome: Outcome;
  readonly session: SessionRecord;
  /** Whether this transaction created the session. */
  readonly created: boolean;
  /** The events it appended, in order; a reader who has all before them applies them. */
  readonly events: readonly NumberedEvent[];
  /** The session after the transaction, when `load` asked for it. Never loaded if the disposition is `hidden`. */
  readonly loaded: StoredSession | null;
}

export interface ThreadQuery {
  readonly publicKey: string;
  readonly apps: readonly string[];
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: Pick<SessionRecord, "pinned" | "updatedAt" | "key"> | null;
}

/** What tells a process whether the session that it has in memory is the one in the store. */
export interface SessionVersion {
  readonly id: string;
  readonly life: string;
  readonly app: string | null;
  /** Number of its last event: all that a snapshot shows, but text that streams, is told of in events. */
  readonly head: number;
  readonly epoch: number;
  /** Changes with each checkpoint of text that streams; `null` when there is none. */
  readonly streamed: string | null;
}

/** The text of a running turn beyond its last finished step, as it was checkpointed last. */
export interface StreamedText {
  readonly life: string;
  readonly head: number;
  readonly epoch: number;
  readonly text: string;
  /** As in `SessionVersion`. */
  readonly streamed: string | null;
}

/** UTF-8 bytes of stored messages after which `messages` ends a portion. */
export const MESSAGE_PORTION_BYTES = 32 * 1024;

/** One incarnation of a session and how long it is unused. */
export interface SessionUse extends Pick<SessionRecord, "id" | "life" | "spelling"> {
  /** Milliseconds since its use was noted last, on the store's clock alone; negative if that clock was set back. */
  readonly unusedMs: number;
}

/** Where a page of messages ends. */
export interface MessagePageEnd {
  /** Id of its last message; `null` when it has none. */
  readonly last: string | null;
  /** Whether the session has messages after it. */
  readonly hasMore: boolean;
}

/** Reads and maintenance of sessions. Methods with `apps` return `other_app` if the session counts as none of them. */
export interface SessionStore {
  find(id: string): Promise<(SessionRecord & SessionUse) | null>;
  /** Where the sessions stand that exist, in no order; one read, whatever their number. */
  versions(ids: readonly string[]): Promise<readonly SessionVersion[]>;
  /** Its numbers and its text belong together; `null` when there is no such session. */
  streamedText(id: string): Promise<StreamedText | null>;
  /** Pinned sessions first, then newest activity first. */
  list(query: ThreadQuery): Promise<readonly SessionRecord[]>;
  /** Keys of all sessions that `list` would answer without a limit, in its order, at one moment. */
  listKeys(query: Omit<ThreadQuery, "limit">): Promise<readonly number[]>;
  /** The sessions with these keys that still exist and count as one of `apps`, in the order of the keys. */
  byKeys(keys: readonly number[], apps: readonly string[]): Promise<readonly SessionRecord[]>;
  /**
   * Where a page ends that begins after the message with id `after` (`null`: with the first): after `limit` messages, or with the one that
   * brings it to `bytes` of stored text, with the session it belongs to. Reads sizes only. `null` when the session or message is unknown.
   */
  messagePage(
    id: string,
    after: string | null,
    page: { readonly limit: number; readonly bytes: number },
    apps?: readonly string[],
  ): Promise<(MessagePageEnd & { readonly session: SessionUse }) | "other_app" | null>;
  /**
   * Up to `limit` messages after the one with id `after` (`null`: from the first), fewer where they are large: a portion ends with the
   * message that brings it to 32 KiB. `null` when the session or message is unknown.
   */
  messages(
    id: string,
    after: string | null,
    limit: number,
    apps?: readonly string[],
  ): Promise<readonly MessageRecord[] | "other_app" | null>;
  /**
   * Removes up to `limit` sessions that were last used before the given times and are not working: empty ones before `emptyBefore`, ones
   * without a wallet before `unboundBefore`; those of an App in `byApp` before the times there. Answers the lives that ended.
   */
  expire(input: {
    readonly emptyBefore: number;
    readonly unboundBefore: number;
    readonly byApp?: Readonly<
      Record<string, { readonly emptyBefore: number; readonly unboundBefore: number }>
    >;
    readonly limit: number;
  }): Promise<readonly { readonly id: string; readonly life: string }[]>;
  /**
   * Counts `messageBytes` and `eventBytes` of up to `limit` sessions that have none, which are those of older versions; an empty one among
   * them then expires as such, with a wallet too. Returns how many it counted.
   */
  countSizes(limit: number): Promise<number>;
}
