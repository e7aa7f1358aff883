import type { ThreadEntry } from "@colloquy/react";

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
