// Search over conversations: the use case, and the job that maintains the index.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { SearchPage, SearchResult } from "@colloquy/protocol";
import { InvalidRequest } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { FoundPart, SearchedSessions } from "../core/ports/driven/search-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { parseSearch, type ParsedSearch, SEARCH_MAX, type Segment, snippetOf } from "../core/search-text.ts";

/** Maximum UTF-16 code units that a request compares. A page ends early if few candidates match. */
const COMPARED = 512 * 1024;
/** UTF-16 code units after which a search yields to the event loop. */
const COMPARED_AT_ONCE = 64 * 1024;

export interface SearchRequest {
  readonly query: string;
  readonly sessions: SearchedSessions;
  readonly limit: number;
  /** `next_cursor` of an earlier page; `null` for the first page. */
  readonly cursor: string | null;
}

export class Search {
  readonly #store: Pick<Store, "search">;

  constructor(store: Pick<Store, "search">) {
    this.#store = store;
  }

  /**
   * Returns a page of matching messages, newest first. A page may have fewer results than `limit`, even
   * none, although another one follows. Throws `InvalidRequest` for a query without words, a long query, or
   * an unknown cursor.
   */
  async find({ query, sessions, limit, cursor }: SearchRequest): Promise<SearchPage> {
    const search = parse(query);
    const { words } = search;
    let before = cursor === null ? null : parseCursor(cursor);
    const results: SearchResult[] = [];
    for (let compared = 0; compared < COMPARED; ) {
      const wanted = limit - results.length + 1;
      const parts = await this.#store.search.find({ sessions, words, before, limit: wanted });
      let portion = 0;
      for (const part of parts) {
        // Leave the candidate to the next page.
        if (results.length === limit) return pageOf(results, before);
        if (before !== null && part.place >= before) continue;
        const snippet = snippetOf(part.text, search);
        before = snippet === null ? part.place : part.messagePlace;
        if (snippet !== null) results.push(toResult(part, snippet));
        portion += part.text.length;
        if (portion < COMPARED_AT_ONCE) continue;
        compared += portion;
        portion = 0;
        if (compared >= COMPARED) return pageOf(results, before);
        await nextTurn();
      }
      compared += portion;
      if (parts.length < wanted) return pageOf(results, null);
    }
    return pageOf(results, before);
  }
}

function parse(query: string): ParsedSearch {
  if (query.length > SEARCH_MAX) {
    const detail = `The query parameter "q" has ${query.length} characters. Send at most ${SEARCH_MAX}.`;
    throw new InvalidRequest("parameter_invalid", detail);
  }
  const search = parseSearch(query);
  if (search !== null) return search;
  const detail =
    'The query parameter "q" has nothing to search for. Send at least one letter, digit or emoji.';
  throw new InvalidRequest("parameter_invalid", detail);
}

function toResult(part: FoundPart, snippet: readonly Segment[]): SearchResult {
  return {
    session_id: part.sessionId,
    title: part.title,
    message_id: part.messageId,
    sender: part.role === "user" ? "user" : "agent",
    created_at: new Date(part.createdAt).toISOString(),
    snippet: [...snippet],
  };
}

function pageOf(results: readonly SearchResult[], before: number | null): SearchPage {
  return { results: [...results], next_cursor: before === null ? null : before.toString(36) };
}

function parseCursor(cursor: string): number {
  if (/^[0-9a-z]{1,11}$/.test(cursor)) {
    const place = Number.parseInt(cursor, 36);
    if (Number.isSafeInteger(place)) return place;
  }
  throw new InvalidRequest("invalid_cursor", "`cursor` must be `next_cursor` of an earlier page.");
}

/** Milliseconds between two polls for ended messages, which must be searchable within a second. */
const LOOK_EVERY_MS = 500;

export interface SearchIndexingOptions {
  readonly store: Pick<Store, "search">;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/**
 * Adds ended messages to the index. The database queues them, so a crash loses none, and any node can index
 * the messages of another.
 */
export class SearchIndexing {
  readonly #options: SearchIndexingOptions;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  #isFailing = false;

  constructor(options: SearchIndexingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= this.#options.clock.every(LOOK_EVERY_MS, () => void this.run());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.stop();
    await this.#running;
  }

  /** Adds all missing messages, or joins the run in progress. Never rejects. */
  async run(): Promise<void> {
    this.#running ??= this.#add().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #add(): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      for (let hasMore = await store.search.isDue(); hasMore && !this.#stopped; ) {
        const began = clock.monotonic();
        ({ hasMore } = await store.search.index());
        // Leave half of the time to other writes.
        if (hasMore) await clock.sleep(clock.monotonic() - began);
      }
      this.#isFailing = false;
    } catch (error) {
      // Log only the first failure: retries run twice a second.
      if (!this.#isFailing) logger.warn({ err: error }, "could not index messages for search; retrying");
      this.#isFailing = true;
    }
  }
}
