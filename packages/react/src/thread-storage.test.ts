import { JSDOM } from "jsdom";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ThreadEntry } from "./thread-entries.ts";
import { mergeFetched, withThread, withoutThread } from "./thread-entries.ts";
import { storedThreadList } from "./thread-list.ts";
import { localThreads, memoryThreads } from "./thread-storage.ts";

const entry = (id: string, day: number, title = id): ThreadEntry => ({
  session_id: id,
  title,
  updated_at: `2026-01-0${day}T00:00:00.000Z`,
});
const ids = (threads: readonly ThreadEntry[]): string => threads.map(({ session_id }) => session_id).join("");

describe("lists of threads", () => {
  const three = [entry("c", 3), entry("b", 2), entry("a", 1)];

  it("insert a thread by latest activity", () => {
    expect(ids(withThread(three, entry("b", 4)))).toBe("bca");
    expect(ids(withThread(three, entry("d", 1)))).toBe("cbda");
    expect(ids(withThread([], entry("d", 1)))).toBe("d");
    expect(ids(withoutThread(three, "b"))).toBe("ca");
  });

  it("insert pinned threads above the others", () => {
    const pinned = { ...entry("a", 1), pinned: true };
    expect(ids(withThread(three, pinned))).toBe("acb");
    expect(ids(withThread([pinned, ...three.slice(0, 2)], entry("d", 4)))).toBe("adcb");
    expect(ids(withThread([pinned, entry("c", 3)], { ...pinned, pinned: false }))).toBe("ca");
  });

  it("keep unchanged objects", () => {
    expect(withThread(three, entry("b", 2))).toBe(three);
    expect(withoutThread(three, "x")).toBe(three);
    expect(mergeFetched(three, structuredClone(three))).toBe(three);
    const changed = mergeFetched(three, [entry("c", 3), entry("b", 2, "Other")]);
    expect(changed[0]).toBe(three[0]);
    expect(changed[1]).toEqual(entry("b", 2, "Other"));
    expect(mergeFetched(three, [{ ...entry("c", 3), pinned: true }, ...three.slice(1)])).not.toBe(three);
  });

  it("keep a stored thread pinned when it gets a message", () => {
    const storage = memoryThreads([{ ...entry("a", 1), pinned: true }, entry("b", 2)]);
    const newest = { id: "1", created_at: entry("a", 3).updated_at };
    storedThreadList(storage).onSummary({ id: "a", title: "A", newest, isDeleted: false }, null);
    expect(storage.read()).toEqual([{ ...entry("a", 3, "A"), pinned: true }, entry("b", 2)]);
  });
});

const PARTS = ["localStorage", "addEventListener", "removeEventListener"] as const;

/** Acts as another page of the same origin: writes, then dispatches the storage event. */
let page: JSDOM["window"];

beforeEach(() => {
  page = new JSDOM("", { url: "http://localhost:5173/", pretendToBeVisual: false }).window;
  vi.stubGlobal("localStorage", page.localStorage);
  for (const name of PARTS.slice(1)) {
    vi.stubGlobal(name, (page[name] as (...given: unknown[]) => unknown).bind(page));
  }
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function written(text: string | null): void {
  if (text === null) page.localStorage.clear();
  else page.localStorage.setItem("colloquy.threads", text);
  const key = text === null ? null : "colloquy.threads";
  page.dispatchEvent(new page.StorageEvent("storage", { key }));
}

describe("localThreads", () => {
  it("keeps the list across pages", () => {
    localThreads().update((threads) => withThread(threads, entry("a", 1)));
    expect(localThreads().read()).toEqual([entry("a", 1)]);
    expect(localThreads({ key: "other" }).read()).toEqual([]);
  });

  it("returns the same array until something changes, and calls subscribers on changes", () => {
    const threads = localThreads();
    const listener = vi.fn<() => void>();
    const leave = threads.subscribe(listener);
    threads.update((before) => withThread(before, entry("a", 1)));
    const before = threads.read();
    threads.update((before) => withThread(before, entry("a", 1)));
    expect(threads.read()).toBe(before);
    expect(listener).toHaveBeenCalledTimes(1);
    leave();
    threads.update(() => []);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it("adopts a list that another page has written, without losing entries", () => {
    const threads = localThreads();
    const listener = vi.fn<() => void>();
    threads.subscribe(listener);
    written(JSON.stringify([entry("b", 2)]));
    expect(listener).toHaveBeenCalledTimes(1);
    threads.update((before) => withThread(before, entry("a", 1)));
    expect(ids(threads.read())).toBe("ba");
    written(null);
    expect(threads.read()).toEqual([]);
  });

  it.each(["no JSON", "{}", "[1, null, {}]", '[{"session_id":"a","title":5,"updated_at":""}]'])(
    "treats %s as an empty list",
    (text) => {
      written(text);
      expect(localThreads().read()).toEqual([]);
    },
  );

  it("falls back to memory where storage is refused", () => {
    vi.stubGlobal("localStorage", {
      getItem: () => {
        throw new DOMException("No.", "SecurityError");
      },
      setItem: () => {
        throw new DOMException("No.", "QuotaExceededError");
      },
    });
    const threads = localThreads();
    threads.update((before) => withThread(before, entry("a", 1)));
    expect(ids(threads.read())).toBe("a");
  });

  it("keeps changes in memory while storage is full", () => {
    const full = JSON.stringify([entry("b", 2)]);
    vi.stubGlobal("localStorage", {
      getItem: () => full,
      setItem: () => {
        throw new DOMException("Full.", "QuotaExceededError");
      },
    });
    const threads = localThreads();
    threads.update((before) => withThread(before, entry("a", 3)));
    threads.update((before) => withThread(before, entry("c", 1)));
    expect(ids(threads.read())).toBe("abc");
    threads.update((before) => withoutThread(before, "b"));
    expect(ids(threads.read())).toBe("ac");
  });

  it("keeps a thread deleted that another page deletes while this one edits another", () => {
    written(JSON.stringify([entry("a", 1), entry("b", 2)]));
    const threads = localThreads();
    threads.subscribe(() => undefined);
    expect(ids(threads.read())).toBe("ab");
    written(JSON.stringify([entry("b", 2)]));
    threads.update((before) => withThread(before, entry("b", 3, "Renamed")));
    expect(JSON.parse(page.localStorage.getItem("colloquy.threads") ?? "")).toEqual([
      entry("b", 3, "Renamed"),
    ]);
  });

  it("keeps the first 1,000 of 5,000 threads, and the objects of those that did not change", () => {
    const many = Array.from({ length: 5_000 }, (_, index) => entry(`thread-${index}`, 1));
    written(JSON.stringify(many));
    const threads = localThreads();
    const before = threads.read();
    threads.update((list) => withThread(list, entry("thread-2500", 2)));
    const after = threads.read();
    expect([after.length, after[0]?.session_id]).toEqual([1_000, "thread-2500"]);
    expect(after[1]).toBe(before[0]);
    expect(after.at(-1)).toBe(before[998]);
  });

  it("is empty on a server", () => {
    vi.stubGlobal("localStorage", undefined);
    expect(localThreads().read()).toEqual([]);
  });
});

it.each([
  ["memoryThreads", () => memoryThreads()],
  ["localThreads", () => localThreads()],
])("%s drops the oldest threads beyond a thousand", (_name, create) => {
  const threads = create();
  threads.update(() => Array.from({ length: 1_001 }, (_value, at) => entry(String(at), 1)));
  expect(threads.read()).toHaveLength(1_000);
  expect(threads.read()[0]!.session_id).toBe("0");
});
