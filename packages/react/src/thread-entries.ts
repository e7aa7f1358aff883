// Pure functions on thread lists: pinned threads first, then the most recently active. Unchanged parts stay the
// same objects.

import type { Thread } from "@colloquy/client";

/** A thread as lists show it. */
export type ThreadEntry = Pick<Thread, "session_id" | "title" | "updated_at"> &
  Partial<Pick<Thread, "pinned" | "metadata">>;

export function withThread(threads: readonly ThreadEntry[], entry: ThreadEntry): readonly ThreadEntry[] {
  const before = threads.find(({ session_id }) => session_id === entry.session_id);
  if (before !== undefined && isSame(before, entry)) return threads;
  const others = threads.filter(({ session_id }) => session_id !== entry.session_id);
  const at = others.findIndex((other) => isBefore(entry, other));
  return at < 0 ? [...others, entry] : [...others.slice(0, at), entry, ...others.slice(at)];
}

export function withoutThread(threads: readonly ThreadEntry[], id: string): readonly ThreadEntry[] {
  const others = threads.filter(({ session_id }) => session_id !== id);
  return others.length === threads.length ? threads : others;
}

/** Returns a newly fetched list, reusing unchanged known objects. */
export function mergeFetched(
  before: readonly ThreadEntry[],
  after: readonly ThreadEntry[],
): readonly ThreadEntry[] {
  const known = new Map(before.map((entry) => [entry.session_id, entry]));
  const threads = after.map((entry) => {
    const old = known.get(entry.session_id);
    return old !== undefined && isSame(old, entry) ? old : entry;
  });
  return threads.length === before.length && threads.every((entry, at) => entry === before[at])
    ? before
    : threads;
}

function isBefore(one: ThreadEntry, other: ThreadEntry): boolean {
  if (isPinned(one) !== isPinned(other)) return isPinned(one);
  return one.updated_at >= other.updated_at;
}

function isSame(one: ThreadEntry, other: ThreadEntry): boolean {
  return (
    one.title === other.title &&
    one.updated_at === other.updated_at &&
    isPinned(one) === isPinned(other) &&
    JSON.stringify(one.metadata) === JSON.stringify(other.metadata)
  );
}

/** Entries stored by an older version have no `pinned`. */
export function isPinned({ pinned }: ThreadEntry): boolean {
  return pinned === true;
}
