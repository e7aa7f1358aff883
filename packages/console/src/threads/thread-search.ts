import type { ThreadEntry, ThreadsState } from "@colloquy/react";

/** A search asks for no more than these by itself. */
export const SEARCHED_AT_MOST = 1_000;

/** Whether a search goes on to the next page: unless that failed, or these are enough. */
export function isFurtherSearched({ threads, hasMore, error }: Omit<ThreadsState, "isLoading">): boolean {
  return hasMore && error === null && threads.length < SEARCHED_AT_MOST;
}

/** The threads whose titles hold all words of `query`, whatever their case and accents; all of them when there is no word. */
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
