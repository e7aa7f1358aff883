import { ColloquyError, type Client, type SearchPage, type SearchResult } from "@colloquy/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";

/**
 * Without a user, the service searches one session per request. The hook then searches only the newest
 * sessions.
 */
const SEARCHED_SESSIONS = 20;
const AT_ONCE = 4;
/** Milliseconds after which a search without results is repeated, because the service indexes a message within a second. */
const REPEAT_MS = 1_500;
/** Results per session. */
const PER_SESSION = 5;

interface SearchState {
  /** Newest message first. */
  readonly results: readonly SearchResult[];
  readonly isLoading: boolean;
  /** Error of the last request; `null` if it succeeded. An error leaves `results` unchanged. */
  readonly error: ColloquyError | null;
  /** True if there are older results. */
  readonly hasMore: boolean;
}

export interface MessageSearch extends SearchState {
  /** Fetches the next page, if there is one. */
  readonly loadMore: () => void;
}

const NOTHING: SearchState = { results: [], isLoading: false, error: null, hasMore: false };

interface Wanted {
  readonly client: Client;
  readonly query: string;
  readonly cursor: string | null;
  /** Sessions to search one by one; `null` for all sessions of the signed-in user. */
  readonly sessions: readonly string[] | null;
  readonly signal: AbortSignal;
}

/**
 * Finds messages with all words of `query`: of the signed-in user, or in the newest 20 sessions of the list. Sends a
 * request whenever `query` changes, so pass a text that has settled; an empty one finds nothing. If there are no
 * results, searches once more after 1.5 seconds, so that a message that was just sent is found.
 */
export function useMessageSearch(query: string): MessageSearch {
  const { client, isSignedIn, list } = useColloquyContext();
  const [state, setState] = useState<SearchState>(NOTHING);
  const [cursor, setCursor] = useState<string | null>(null);
  const next = useRef<string | null>(null);
  const [searched, setSearched] = useState({ query, client });
  if (searched.query !== query || searched.client !== client) {
    setSearched({ query, client });
    setCursor(null);
    setState({ ...NOTHING, isLoading: query.trim() !== "" });
  }
  useEffect(() => {
    next.current = null;
    if (query.trim() === "") return;
    const stop = new AbortController();
    const { signal } = stop;
    const known = list.getState().threads.slice(0, SEARCHED_SESSIONS);
    const sessions = isSignedIn ? null : known.map(({ session_id: id }) => id);
    setState((before) => ({ ...before, isLoading: true, error: null }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = (isRepeated: boolean): void =>
      void pageOf({ client, query, cursor, sessions, signal }).then(
        (page) => {
          if (signal.aborted) return;
          next.current = page.next_cursor;
          setState(({ results }) => ({
            results: cursor === null ? page.results : [...results, ...page.results],
            isLoading: false,
            error: null,
            hasMore: page.next_cursor !== null,
          }));
          if (page.results.length > 0) return;
          // A page without results may precede one with results.
          if (page.next_cursor !== null) setCursor(page.next_cursor);
          else if (cursor === null && !isRepeated) timer = setTimeout(ask, REPEAT_MS, true);
        },
        (error: unknown) => {
          if (!signal.aborted)
            setState((before) => ({ ...before, isLoading: false, error: failureOf(error) }));
        },
      );
    ask(false);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [client, isSignedIn, list, query, cursor]);
  const loadMore = useCallback(() => {
    if (next.current !== null) setCursor(next.current);
  }, []);
  return { ...state, loadMore };
}

async function pageOf({ client, query, cursor, sessions, signal }: Wanted): Promise<SearchPage> {
  if (sessions === null) {
    return await client.search(query, { signal, ...(cursor !== null && { cursor }) });
  }
  const waiting = [...sessions];
  const results = new Map<string, SearchResult>();
  const searchNext = async (): Promise<void> => {
    for (let sessionId = waiting.shift(); sessionId !== undefined; sessionId = waiting.shift()) {
      const page = await client
        .search(query, { sessionId, limit: PER_SESSION, signal })
        .catch((error: unknown): SearchPage => {
          // The session was deleted, has expired, or belongs to an App that this page may not use.
          const isHidden = error instanceof ColloquyError && [401, 403, 404].includes(error.status);
          if (!isHidden) throw error;
          return { results: [], next_cursor: null };
        });
      for (const result of page.results) results.set(result.message_id, result);
      // The client now has a user's token, for example because the user has proved a wallet.
      if (page.results.some(({ session_id: id }) => id !== sessionId)) waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, searchNext));
  const found = [...results.values()];
  found.sort(newestFirst);
  return { results: found, next_cursor: null };
}

function newestFirst(left: SearchResult, right: SearchResult): number {
  return left.created_at < right.created_at ? 1 : -1;
}

function failureOf(error: unknown): ColloquyError {
  if (error instanceof ColloquyError) return error;
  throw error;
}
