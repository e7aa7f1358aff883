import type { ThreadEntry, ThreadsState } from "@colloquy/react";

/** A search loads at most this many threads by itself. */
export const SEARCHED_AT_MOST = 1_000;

/**
 * Returns true if the search should load the next page: the last request succeeded and the limit is not
 * reached.
 */
export function isFurtherSearched({ threads, hasMore, error }: Omit<ThreadsState, "isLoading">): boolean {
  return hasMore && error === null && threads.length < SEARCHED_AT_MOST;
}

/**
 * Returns the threads whose titles contain all words of `query`, ignoring case and accents; all threads if
 * there are no words.
 */
export function matchingThreads(threads: readonly ThreadEntry[], query: string): readonly ThreadEntry[] {
  const words = plain(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return threads;
  return threads.filter(({ title }) => {
    const text = plain(title);
    return words.every((word) => text.includes(word));
  });
}

function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    .toLowerCase();
}
