// Storage for the page's own conversations. A session id is a capability and the service does not list
// sessions without a wallet, so only the page knows them.

import type { ThreadEntry } from "./thread-entries.ts";

export interface ThreadStorage {
  /** Pinned threads first, then the most recently active; the same array until something changes. */
  read(): readonly ThreadEntry[];
  /** Replaces the list with the result of `change`. */
  update(change: (threads: readonly ThreadEntry[]) => readonly ThreadEntry[]): void;
  /** Calls back when this page or another one changes the list. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}

/** Maximum number of conversations; the oldest are dropped. */
const MAX_THREADS = 1_000;

const NONE: readonly ThreadEntry[] = [];

/** Stores the list in memory. */
export function memoryThreads(initial: readonly ThreadEntry[] = NONE): ThreadStorage {
  let threads = initial;
  const listeners = new Set<() => void>();
  return {
    read: () => threads,
    update: (change) => {
      const before = threads;
      threads = bounded(before, change);
      if (threads === before) return;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}

export interface LocalThreadsOptions {
  /** Storage key; `colloquy.threads` when absent. Use another one for each service the same page talks to. */
  readonly key?: string;
}

/**
 * Stores the list in the browser's `localStorage`, shared by all pages of the origin. Falls back to memory
 * where storage is refused (private window, quota) or missing (server).
 */
export function localThreads({ key = "colloquy.threads" }: LocalThreadsOptions = {}): ThreadStorage {
  let known: string | null = null;
  let threads = NONE;
  const listeners = new Set<() => void>();
  /** Adopts the list that another page has written in the meantime. */
  const read = (): readonly ThreadEntry[] => {
    const text = stored(key);
    if (text !== known) threads = text === null ? NONE : parsed(text);
    known = text;
    return threads;
  };
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  // `localStorage.clear()` of another page sends an event without a key.
  const onStorage = (event: StorageEvent): void => {
    if (event.key === key || event.key === null) tell();
  };
  return {
    read,
    update: (change) => {
      const before = read();
      threads = bounded(before, change);
      if (threads === before) return;
      known = store(key, JSON.stringify(threads));
      tell();
    },
    subscribe: (listener) => {
      const own = (): void => listener();
      if (listeners.size === 0) globalThis.addEventListener?.("storage", onStorage);
      listeners.add(own);
      return () => {
        listeners.delete(own);
        if (listeners.size === 0) globalThis.removeEventListener?.("storage", onStorage);
      };
    },
  };
}

function bounded(
  before: readonly ThreadEntry[],
  change: (threads: readonly ThreadEntry[]) => readonly ThreadEntry[],
): readonly ThreadEntry[] {
  const after = change(before);
  return after.length > MAX_THREADS ? after.slice(0, MAX_THREADS) : after;
}

/** Returns `null` if nothing is stored or reading is refused. */
function stored(key: string): string | null {
  try {
    return globalThis.localStorage?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** Stores the text. Returns the stored text, or `null` if storage is refused. */
function store(key: string, text: string): string | null {
  try {
    globalThis.localStorage?.setItem(key, text);
  } catch {
    // Continue with the list in memory.
  }
  return stored(key);
}

/** Parses a stored list. Other software or an older version may have written anything. */
function parsed(text: string): readonly ThreadEntry[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isEntry) : NONE;
  } catch {
    return NONE;
  }
}

function isEntry(value: unknown): value is ThreadEntry {
  if (typeof value !== "object" || value === null) return false;
  const { session_id, title, updated_at } = value as Record<string, unknown>;
  return typeof session_id === "string" && typeof title === "string" && typeof updated_at === "string";
}
