// Sessions and their messages in the store. One method is one transaction; its result is on disk. Times are
// on the store's clock. If the store fails, methods reject with `Unavailable` (507 if the disk is full, else
// 503) and change nothing, unless it is an `OutcomeUnknown`.

import type { ActionRecord } from "../../action.ts";
import type { MessageRecord } from "../../message.ts";
import type { AuditEntry } from "../../audit.ts";
import type { NumberedEvent, SystemEventRecord } from "../../session-event.ts";
import type { HiddenReason, SessionAccess } from "../../session-access.ts";
import type { SessionRecord } from "../../session.ts";

/** A session with everything in its snapshot. */
export interface StoredSession {
  readonly session: SessionRecord;
  /** Messages in the order of arrival. A streaming agent message has the text of its finished steps. */
  readonly messages: readonly MessageRecord[];
  /** The last 100, oldest first. */
  readonly systemEvents: readonly SystemEventRecord[];
  /** Oldest first. */
  readonly pendingActions: readonly ActionRecord[];
  /** Checkpointed text after the last finished step. */
  readonly checkpointed: string;
}

/** The result of a transaction on a session. */
export interface Committed<Outcome> {
  readonly outcome: Outcome;
  readonly session: SessionRecord;
  /** True if this transaction created the session. */
  readonly created: boolean;
  /** The appended events, in order. */
  readonly events: readonly NumberedEvent[];
  /** Entries of the audit trail that were stored with it. */
  readonly audited: readonly AuditEntry[];
  /** The session after the transaction if the target has `load`. Never loaded if the disposition is `hidden`. */
  readonly loaded: StoredSession | null;
}

/** Sessions expire if they were last used before these times; see `SessionStore.expire`. */
export interface ExpiryTimes {
  readonly emptyBefore: number;
  readonly unboundBefore: number;
  readonly boundBefore?: number | null;
}

/** The sessions of a user (`owner`) or of a wallet (`publicKey`); the other one is `null`. */
export interface SessionsOf {
  readonly owner: string | null;
  readonly publicKey: string | null;
  /** `null` for all Apps. */
  readonly app: string | null;
}

export type HeldSession = Pick<
  SessionRecord,
  "key" | "id" | "spelling" | "messageCount" | "userState" | "publicKey"
>;

/** Access for lists, which always have a list of Apps. */
export interface ListAccess extends SessionAccess {
  readonly apps: readonly string[];
}

export interface ThreadQuery {
  /** Wallet whose threads are listed; `null` for the threads of the user. */
  readonly publicKey: string | null;
  /** Threads without access are omitted. */
  readonly access: ListAccess;
  readonly limit: number;
  /** End of the previous page. */
  readonly after: Pick<SessionRecord, "pinned" | "updatedAt" | "key"> | null;
  /** Only threads whose metadata has these texts; absent for all threads. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Only archived threads, or only others; absent for both. */
  readonly archived?: boolean | undefined;
}

/** A session's version in the store, to check whether a copy in memory is up to date. */
export interface SessionVersion {
  readonly id: string;
  readonly incarnation: string;
  readonly app: string | null;
  /** Number of its last event. Every change of a snapshot has an event, except streamed text. */
  readonly head: number;
  readonly epoch: number;
  /** Changes with each checkpoint of streamed text; `null` without one. */
  readonly streamed: string | null;
}

/** The last checkpoint of a running turn: its text after the last finished step. */
export interface StreamedText {
  readonly incarnation: string;
  readonly head: number;
  readonly epoch: number;
  readonly text: string;
  /** As in `SessionVersion`. */
  readonly streamed: string | null;
}

/** Maximum UTF-8 bytes of stored messages that `messages` returns, except for its last message. */
export const MESSAGE_PORTION_BYTES = 32 * 1024;

export interface SessionUse extends Pick<SessionRecord, "id" | "incarnation" | "spelling"> {
  /** Milliseconds since its last recorded use, on the store's clock; negative if that clock was set back. */
  readonly unusedMs: number;
}

/** The end of a page of messages. */
export interface MessagePageEnd {
  /** Id of its last message; `null` for an empty page. */
  readonly last: string | null;
  /** True if messages follow. */
  readonly hasMore: boolean;
}

export interface CopySize {
  readonly app: string;
  /** Number of the last finished turn that was counted; 0 for none. */
  readonly lastTurn: number;
  readonly bytes: number;
}

/** Reads and maintenance of sessions. Methods with `access` return the reason if the caller has no access. */
export interface SessionStore {
  find(id: string): Promise<(SessionRecord & SessionUse) | null>;
  /** Returns the versions of existing sessions in any order, in one read. */
  versions(ids: readonly string[]): Promise<readonly SessionVersion[]>;
  /** Returns a consistent read; `null` if there is no such session. */
  streamedText(id: string): Promise<StreamedText | null>;
  /** Pinned sessions first, then newest activity first. */
  list(query: ThreadQuery): Promise<readonly SessionRecord[]>;
  /** Returns the keys of all sessions that `list` would return without a limit, in its order, in one read. */
  listKeys(query: Omit<ThreadQuery, "limit">): Promise<readonly number[]>;
  /**
   * Returns the sessions with these keys, in the order of the keys. Omits sessions that no longer exist or
   * that `access` hides.
   */
  byKeys(keys: readonly number[], access: SessionAccess): Promise<readonly SessionRecord[]>;
  /**
   * Returns the end of the page after message `after` (`null` for the first page): after `limit` messages, or
   * with the one that reaches `bytes` of stored text. Reads sizes only. `null` if the session or message is
   * unknown.
   */
  messagePage(
    id: string,
    after: string | null,
    page: { readonly limit: number; readonly bytes: number },
    access: SessionAccess | null,
  ): Promise<(MessagePageEnd & { readonly session: SessionUse }) | HiddenReason | null>;
  /**
   * Returns what a copy through message `through` (`null`: of all finished turns) stores. Reads sizes only. `null` if there is no such
   * session, or `access` hides it.
   */
  copySize(id: string, through: string | null, access: SessionAccess): Promise<CopySize | null>;
  /**
   * Returns up to `limit` messages after message `after` (`null`: from the first), and ends with the one that
   * reaches 32 KiB. `null` if the session, its `incarnation` (default: the present one) or the message is
   * unknown.
   */
  messages(
    id: string,
    after: string | null,
    limit: number,
    access: SessionAccess | null,
    incarnation?: string,
  ): Promise<readonly MessageRecord[] | HiddenReason | null>;
  /**
   * Removes up to `limit` unused sessions without open turns: empty sessions without files last used before
   * `emptyBefore`, sessions without a wallet or owner before `unboundBefore`, others before `boundBefore` if it is given,
   * and sessions of an App in `byApp` before its times. Sessions of other Apps with a wallet or owner are
   * kept. Returns the ended incarnations.
   */
  expire(input: {
    readonly emptyBefore: number;
    readonly unboundBefore: number;
    readonly boundBefore?: number | null;
    readonly byApp?: Readonly<Record<string, ExpiryTimes>>;
    readonly limit: number;
  }): Promise<readonly { readonly id: string; readonly incarnation: string }[]>;
  /** Returns up to `limit` sessions of a user or wallet, by their key, which is above `after`. */
  heldBy(whose: SessionsOf, after: number, limit: number): Promise<readonly HeldSession[]>;
  /**
   * Counts `messageBytes` and `eventBytes` of up to `limit` sessions that an older version stored without
   * them. Returns how many it counted.
   */
  countSizes(limit: number): Promise<number>;
}
