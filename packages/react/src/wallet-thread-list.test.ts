// Changes made while the list is being fetched, which the pending response does not contain.

import { afterEach, beforeEach, expect, it } from "vitest";
import { serve, type Served } from "../../client/test/served.ts";
import type { ThreadEntry } from "./thread-entries.ts";
import { WalletThreadList } from "./wallet-thread-list.ts";

const WALLET = "0x52908400098527886e0f7030069857d2e4169ee7";
const [A, B, C] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, string, string];

let served: Served;
let list: WalletThreadList;
/** True if responses with threads are held back; `held` contains them. */
let isHeld: boolean;
let held: (() => void)[];
/** The `limit` of each request. */
let asked: string[];

beforeEach(async () => {
  served = await serve();
  [isHeld, held, asked] = [false, [], []];
  for (const [id, title] of [
    [A, "A"],
    [B, "B"],
    [C, "C"],
  ] as const) {
    await served.direct.createSession(id, { publicKey: WALLET });
    await served.direct.renameThread(id, title);
  }
  list = newList(50);
});
afterEach(() => served.stop());

function newList(pageSize: number): WalletThreadList {
  const holding: typeof fetch = async (input, init) => {
    asked.push(new URL(input instanceof Request ? input.url : input).searchParams.get("limit") ?? "");
    const response = await fetch(input, init);
    if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
    return response;
  };
  const client = served.client({ fetch: holding });
  return new WalletThreadList({ client, publicKey: WALLET, pageSize });
}

const titles = (of = list): string =>
  of
    .getState()
    .threads.map(({ title }) => title)
    .toSorted()
    .join();

/** Runs `work` while an outdated answer is pending, then releases it. */
async function meanwhile(asking: () => Promise<void>, work: () => Promise<void>): Promise<void> {
  isHeld = true;
  const asked = asking();
  await served.until(() => held.length === 1);
  await work();
  isHeld = false;
  held.pop()?.();
  await asked;
}

it("keeps a removed conversation removed, even if the list was not loaded yet", async () => {
  await meanwhile(list.refresh, async () => {
    await served.direct.deleteThread(B);
    list.drop(B);
  });
  expect(titles()).toBe("A,C");
  await meanwhile(list.refresh, async () => {
    await served.direct.deleteThread(C);
    list.drop(C);
  });
  expect(list.getState()).toMatchObject({ threads: [{ title: "A" }], isLoading: false, error: null });
});

it("keeps the name of a renamed conversation", async () => {
  await list.refresh();
  await meanwhile(list.refresh, async () => list.put(await served.direct.renameThread(A, "Z")));
  expect(titles()).toBe("B,C,Z");
});

it("keeps a pinned conversation pinned", async () => {
  await list.refresh();
  await meanwhile(list.refresh, async () => list.put(await served.direct.pinThread(A)));
  expect(list.getState().threads.map(({ pinned }) => pinned)).toEqual([true, false, false]);
});

it("omits a conversation that was removed while the next page loads, and no other", async () => {
  const paged = newList(1);
  await paged.refresh();
  const seen: (readonly ThreadEntry[])[] = [];
  const leave = paged.subscribe(() => seen.push(paged.getState().threads));
  await meanwhile(paged.loadMore, async () => {
    await served.direct.deleteThread(B);
    paged.drop(B);
  });
  leave();
  expect(titles(paged)).toBe("A,C");
  expect(seen.flat().map(({ title }) => title)).not.toContain("B");
});

/** The summary of a shown session with this newest message. */
const summary = (id: string, title: string, newest: string) => ({
  id,
  title,
  newest: { id: newest, created_at: "2026-11-21T12:00:00.000Z" },
  isDeleted: false,
});

it("keeps the pending response after a message in a renamed conversation", async () => {
  await list.refresh();
  await meanwhile(list.refresh, async () => {
    list.onSummary(summary(A, "A", "2"), summary(A, "A", "1"));
    list.onSummary(summary(A, "A", "3"), summary(A, "A", "2"));
  });
  await served.until(() => !list.getState().isLoading);
  // Two refreshes, and one after the messages.
  expect(asked).toEqual(["50", "50", "50"]);
});

it("refetches one page of a longer list after a message, and keeps the rest", async () => {
  const paged = newList(2);
  await paged.refresh();
  await paged.loadMore();
  const [last] = paged.getState().threads.slice(-1);
  expect([paged.getState().threads.length, paged.getState().hasMore]).toEqual([3, false]);
  await served.direct.sendMessage(last!.session_id, "Hello");
  paged.onSummary(summary(last!.session_id, last!.title, "2"), summary(last!.session_id, last!.title, "1"));
  await served.until(() => paged.getState().threads[0]?.session_id === last!.session_id);
  expect(asked).toEqual(["2", "2", "2"]);
  expect([titles(paged), paged.getState().hasMore]).toEqual(["A,B,C", false]);
});

it("refetches the whole list if all threads on the page are pinned, because new ones follow them", async () => {
  const paged = newList(1);
  await served.direct.pinThread(A);
  await paged.refresh();
  await paged.loadMore();
  await served.direct.sendMessage(B, "Hello");
  paged.onSummary(summary(B, "B", "2"), summary(B, "B", "1"));
  await served.until(() => paged.getState().threads[1]?.session_id === B);
  expect(asked).toEqual(["1", "1", "1", "2"]);
});

it("refetches the whole list if everything on the page is new", async () => {
  const paged = newList(1);
  await paged.refresh();
  await paged.loadMore();
  await served.direct.sendMessage(A, "Hello");
  paged.onSummary(summary(A, "A", "2"), summary(A, "A", "1"));
  await served.until(() => paged.getState().threads[0]?.session_id === A);
  expect(asked).toEqual(["1", "1", "1", "2"]);
  expect(paged.getState()).toMatchObject({ threads: [{ title: "A" }, { title: "C" }], hasMore: true });
});
