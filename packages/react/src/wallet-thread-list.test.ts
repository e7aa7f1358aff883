// What is done to a conversation while the list is being fetched: the answer on its way does not know of it.

import { afterEach, beforeEach, expect, it } from "vitest";
import { serve, type Served } from "../../client/test/served.ts";
import type { ThreadEntry } from "./thread-entries.ts";
import { WalletThreadList } from "./wallet-thread-list.ts";

const WALLET = "0x52908400098527886e0f7030069857d2e4169ee7";
const [A, B, C] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, string, string];

let served: Served;
let list: WalletThreadList;
/** Whether answers with threads wait, and those that do. */
let isHeld: boolean;
let held: (() => void)[];

beforeEach(async () => {
  served = await serve();
  [isHeld, held] = [false, []];
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

/** Does it while an answer that does not know of it is under way, and lets that go on. */
async function meanwhile(asking: () => Promise<void>, work: () => Promise<void>): Promise<void> {
  isHeld = true;
  const asked = asking();
  await served.until(() => held.length === 1);
  await work();
  isHeld = false;
  held.pop()?.();
  await asked;
}

it("a conversation that was removed stays away, also where the list was not there yet", async () => {
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

it("a conversation that was named keeps its name", async () => {
  await list.refresh();
  await meanwhile(list.refresh, async () => list.put(await served.direct.renameThread(A, "Z")));
  expect(titles()).toBe("B,C,Z");
});

it("one that is removed while the next page comes is not on it, and nothing else is missing", async () => {
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
