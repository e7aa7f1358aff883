import type { IndexedWord } from "../../search-text.ts";
import type { MessageRecord } from "../../message.ts";
import type { SessionAccess, SessionUser } from "../../session-access.ts";
import type { ListAccess } from "./session-store.ts";

/**
 * Conversations to search: a single one for a caller without a user, or those of a user and of proved
 * wallets.
 */
export type SearchedSessions =
  | { readonly kind: "session"; readonly id: string; readonly access: SessionAccess }
  | { readonly kind: "user"; readonly access: ListAccess & { readonly user: SessionUser } };

export interface SearchQuery {
  readonly sessions: SearchedSessions;
  /** Words that must all be in one part of a message. */
  readonly words: readonly IndexedWord[];
  /** Only parts before this place; `null` for all. */
  readonly before: number | null;
  readonly limit: number;
}

/** A part of a message that contains the words, in any order. */
export interface FoundPart {
  /** Increases with the time of the message. */
  readonly place: number;
  /** The lowest place of the message's parts. */
  readonly messagePlace: number;
  /** Session id in its creator's spelling. */
  readonly sessionId: string;
  readonly title: string;
  readonly messageId: string;
  readonly role: MessageRecord["role"];
  readonly createdAt: number;
  readonly text: string;
}

export interface IndexedBatch {
  /** Number of messages that were added. */
  readonly messages: number;
  /** Number of parts of removed messages that were deleted. */
  readonly removed: number;
  /** True if there is more to index or delete. */
  readonly hasMore: boolean;
}

/** The search index of messages. No search finds a removed message. */
export interface SearchStore {
  /** Returns true if `index` has work to do. Never writes. */
  isDue(): Promise<boolean>;
  /**
   * Adds ended messages to the index. Messages that have just ended precede those of older versions,
   * imports, and sessions whose owner or wallet has changed. One call reads about `INDEXED_BYTES`, and adds
   * nothing while another node is indexing. Also deletes the words of removed messages if the store does not
   * delete them with the message.
   */
  index(): Promise<IndexedBatch>;
  /** Returns the newest parts first. */
  find(query: SearchQuery): Promise<readonly FoundPart[]>;
}

/** UTF-8 bytes of messages after which an indexing batch ends. */
export const INDEXED_BYTES = 128 * 1024;
