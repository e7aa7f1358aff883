// Simulates several tabs with Node's Web Locks and BroadcastChannel.

import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { type FreeSlot, type SlotPage, streamSlots, type StreamSlots } from "./stream-slots.ts";
import { REAL_TIMING } from "./timing.ts";

const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:100.0) Gecko/20100101 Firefox/100.0";
const HTTP_1 = [{ name: "http://chat.test/page", nextHopProtocol: "http/1.1" }];

let service: string;
/** Slots are per service, so each test uses a service of its own. */
beforeEach(() => void (service = `http://${randomUUID()}.test`));

function tab(page: Partial<SlotPage> = {}, baseUrl = service): StreamSlots {
  return streamSlots(baseUrl, REAL_TIMING, {
    location: { origin: "http://chat.test" },
    navigator: { locks: navigator.locks, userAgent },
    performance: { getEntriesByType: () => HTTP_1 },
    BroadcastChannel,
    ...page,
  });
}

const NO_LOCKS: Partial<SlotPage> = { navigator: { userAgent } };
/** A browser that blocks site data rejects Web Locks. */
const REJECTED: Partial<SlotPage> = {
  navigator: {
    userAgent,
    locks: {
      request: () => Promise.reject(new DOMException("Access is denied.", "SecurityError")),
      query: () => Promise.reject(new DOMException("Access is denied.", "SecurityError")),
    },
  },
};

async function takeFour(...tabs: readonly StreamSlots[]): Promise<FreeSlot[]> {
  const slots: FreeSlot[] = [];
  for (let at = 0; at < 4; at += 1) {
    const free = await tabs[at % tabs.length]!.take();
    if (free === null) throw new Error(`Slot ${at} was not available`);
    slots.push(free);
  }
  return slots;
}

const never = new AbortController().signal;

describe.each<[string, Partial<SlotPage>]>([
  ["through Web Locks", {}],
  ["through messages without Web Locks", NO_LOCKS],
  ["through messages if Web Locks are rejected", REJECTED],
])("slots shared %s", (_how, page) => {
  it("are limited to four across tabs, and reusable once freed", async () => {
    const [one, other] = [tab(page), tab(page)];
    const slots = await takeFour(one, other);
    expect(await one.take()).toBeNull();
    expect(await other.take()).toBeNull();
    slots[0]!();
    // Freeing twice has no further effect.
    slots[0]!();
    const last = await other.next(never);
    expect(await one.take()).toBeNull();
    for (const free of [...slots, last]) free();
  });

  it("go to a waiting tab when another one frees its own", async () => {
    const [one, other] = [tab(page), tab(page)];
    const slots = await takeFour(one);
    expect(await one.isWanted()).toBe(false);
    let isPromoted = false;
    const waiting = other.next(never).then((free) => {
      isPromoted = true;
      return free;
    });
    await expect.poll(() => one.isWanted()).toBe(true);
    expect(isPromoted).toBe(false);
    slots.pop()!();
    const promoted = await waiting;
    expect(await tab(page).take()).toBeNull();
    for (const free of [...slots, promoted]) free();
    const again = await takeFour(tab(page));
    for (const free of again) free();
  });

  it("stay free after a waiting session aborts", async () => {
    const [one, other] = [tab(page), tab(page)];
    const slots = await takeFour(one);
    const abort = new AbortController();
    const waiting = other.next(abort.signal).catch((error: unknown) => error);
    await expect.poll(() => one.isWanted()).toBe(true);
    abort.abort(new Error("Enough"));
    expect(await waiting).toEqual(new Error("Enough"));
    for (const free of slots) free();
    const again = await takeFour(tab(page));
    for (const free of again) free();
  });

  it("are limited to four under concurrent requests", async () => {
    const tabs = Array.from({ length: 8 }, () => tab(page));
    const taken = await Promise.all(tabs.map(async (one) => await one.take()));
    const first = taken.filter((free) => free !== null);
    expect(first).toHaveLength(4);
    for (const free of first) free();
  });

  it("are separate for each service", async () => {
    const slots = await takeFour(tab(page));
    const others = await takeFour(tab(page, "https://other.test/chat"));
    expect(others).toHaveLength(4);
    for (const free of [...slots, ...others]) free();
  });
});

describe("slots", () => {
  it("are limited per client if tabs cannot communicate", async () => {
    const alone = { navigator: { userAgent }, BroadcastChannel: undefined };
    const one = tab(alone);
    await takeFour(one);
    expect(await one.take()).toBeNull();
    expect(await tab(alone).take()).not.toBeNull();
  });

  it.each<[string, Partial<SlotPage>, string]>([
    ["outside browsers", { navigator }, "http://chat.test"],
    [
      "in jsdom",
      { navigator: { userAgent: "Mozilla/5.0 (linux) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/31.0.1" } },
      "http://chat.test",
    ],
    [
      "over HTTP/2",
      { performance: { getEntriesByType: () => [{ name: "http://chat.test/", nextHopProtocol: "h2" }] } },
      "",
    ],
    [
      "over HTTP/3 to another origin with timing data",
      { performance: { getEntriesByType: () => [{ name: "https://api.test/x", nextHopProtocol: "h3" }] } },
      "https://api.test",
    ],
  ])("are unlimited %s", async (_where, page, baseUrl) => {
    const one = tab(page, baseUrl);
    for (let time = 1; time <= 9; time += 1) expect(await one.take()).not.toBeNull();
  });

  it("are limited in React Native", async () => {
    const native = tab({
      location: undefined,
      performance: undefined,
      navigator: { product: "ReactNative" },
      BroadcastChannel: undefined,
    });
    await takeFour(native);
    expect(await native.take()).toBeNull();
  });
});
