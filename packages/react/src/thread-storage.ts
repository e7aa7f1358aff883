// Where a page keeps which conversations are its own. The id of a conversation is a capability, so no service lists those of strangers:
// without a wallet, only the page knows them.

import type { ThreadEntry } from "./thread-entries.ts";

export interface ThreadStorage {
  /** Newest activity first; the same array until something changes. */
  read(): readonly ThreadEntry[];
  /** Puts what `change` makes of the list in its place. */
  update(change: (threads: readonly ThreadEntry[]) => readonly ThreadEntry[]): void;
  /** Calls back when the list is new, whoever has changed it. Answers what ends this. */
  subscribe(listener: () => void): () => void;
}

/** Beyond this the oldest conversations are forgotten. */
const LONGEST = 1_000;

const NONE: readonly ThreadEntry[] = [];

/** Keeps the list as long as the page lives. */
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
  /** Under which the list is kept; `colloquy.threads` when absent. Another one for each service that the same page talks to. */
  readonly key?: string;
}

/**
 * Keeps the list in the browser's `localStorage`, the same for all pages of the origin. Where that is refused (a private window, no room) or
 * there is none (a server), as long as the page lives.
 */
export function localThreads({ key = "colloquy.threads" }: LocalThreadsOptions = {}): ThreadStorage {
  let known: string | null = null;
  let threads = NONE;
  const listeners = new Set<() => void>();
  /** Takes over what another page has written meanwhile. */
  const read = (): readonly ThreadEntry[] => {
    const text = stored(key);
    if (text !== known) threads = text === null ? NONE : parsed(text);
    known = text;
    return threads;
  };
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  // A page's `clear` comes with no key.
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
  return after.length > LONGEST ? after.slice(0, LONGEST) : after;
}

/** `null` where there is nothing, or nothing may be read. */
function stored(key: string): string | null {
  try {
    return globalThis.localStorage?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

/** Answers what is stored afterwards. */
function store(key: string, text: string): string | null {
  try {
    globalThis.localStorage?.setItem(key, text);
  } catch {
    // The page goes on with what it remembers.
  }
  return stored(key);
}

/** What somebody else has written there, or an older version, may be anything. */
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
