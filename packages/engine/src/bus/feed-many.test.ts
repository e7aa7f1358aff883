import { describe, expect, it } from "vitest";
import { until } from "../../../server/test/service.ts";
import { bareFeed, numbersOf } from "./testing/bare-feed.ts";
import { SlowSink } from "./testing/fake-event-log.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import type { StreamPosition } from "../core/ports/driven/event-hub.ts";

describe("head of a session's log", () => {
  it("ignores the head of an earlier incarnation", async () => {
    const { hub, position, where, feed, read, commit } = bareFeed();
    const old = await read("s");
    commit("s", "a", 1, 50);
    // A stream opens on an incarnation that is deleted before the store answers; others already read the next
    // one.
    const late = Promise.withResolvers<StreamPosition>();
    position.answer = () => late.promise;
    const first = read("s");
    await new Promise((resolve) => setImmediate(resolve));
    position.answer = where;
    hub.publish("s", { kind: "deleted", incarnation: "a" });
    expect(old.sink.ended).toBe("finish");
    commit("s", "b", 1, 2);
    const second = await read("s");
    const slow = new SlowSink();
    await feed.open(
      { sessionId: "s", access: FOR_ANYBODY, include: new Set(), lastEventId: "0" },
      slow,
      null,
    );
    await until(() => numbersOf({ sink: slow }).length === 2);
    late.resolve({
      spelling: "as-spelled",
      incarnation: "a",
      head: 50,
      app: "default",
      boundApp: null,
      owner: null,
      epoch: 0,
      isProcessing: false,
      streaming: null,
      pendingActions: [],
    });
    expect((await first).sink.ended).toBe("finish");
    slow.drain();
    await new Promise((resolve) => setImmediate(resolve));
    commit("s", "b", 3, 4);
    expect(numbersOf(second)).toEqual([3, 4]);
    expect(numbersOf({ sink: slow })).toEqual([1, 2, 3, 4]);
    feed.stop();
  });

  it("shows no text of an earlier incarnation, even if a read is older than the notifications", async () => {
    const { hub, position, feed, commit } = bareFeed();
    const message = {
      id: "m",
      sender: "agent",
      content: "said before",
      status: "streaming",
      created_at: "2026-01-01T00:00:00.000Z",
    } as const;
    hub.publish("s", {
      kind: "events",
      incarnation: "a",
      epoch: 1,
      events: [{ number: 1, event: { type: "message_created", message } }],
    });
    const late = Promise.withResolvers<Awaited<ReturnType<typeof position.answer>>>();
    position.answer = () => late.promise;
    const sink = new SlowSink();
    const opening = feed.open(
      { sessionId: "s", access: FOR_ANYBODY, include: new Set(["messages"]), lastEventId: "b-1" },
      sink,
      null,
    );
    await new Promise((resolve) => setImmediate(resolve));
    commit("s", "b", 1, 2);
    late.resolve({
      spelling: "as-spelled",
      incarnation: "b",
      head: 1,
      app: "default",
      boundApp: null,
      owner: null,
      epoch: 0,
      isProcessing: false,
      streaming: null,
      pendingActions: [],
    });
    await opening;
    await until(() => numbersOf({ sink }).length === 1 || sink.text.includes("b-2"));
    sink.drain();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sink.text).not.toContain("said before");
    feed.stop();
  });

  it("survives a repeated deletion of an earlier incarnation", async () => {
    const { hub, log, feed, read, commit } = bareFeed();
    commit("s", "b", 1, 300);
    const one = await read("s", "0");
    hub.publish("s", { kind: "deleted", incarnation: "a" });
    await until(() => numbersOf(one).at(-1) === 300);
    expect(numbersOf(one)).toHaveLength(300);
    expect(log.head).toBe(300);
    feed.stop();
  });
});

describe("streams of one session", () => {
  it("are limited in number, including those being opened, and closing one frees its slot", async () => {
    const { feed, read, position, where } = bareFeed({ max: 2 });
    const gate = Promise.withResolvers<StreamPosition>();
    position.answer = () => gate.promise;
    const opening = [read("s"), read("s")];
    await expect(read("s")).rejects.toMatchObject({
      status: 429,
      code: "too_many_streams",
      headers: { "retry-after": "10" },
    });
    gate.resolve(await where());
    const [first] = await Promise.all(opening);
    await expect(read("s")).rejects.toMatchObject({ status: 429 });
    expect((await read("other")).sink.ended).toBeNull();
    first?.stream.close();
    first?.stream.close();
    await read("s");
    await expect(read("s")).rejects.toMatchObject({ status: 429 });
    expect(feed.openStreams).toBe(3);
    feed.stop();
    expect(feed.openStreams).toBe(0);
  });

  it("do not count if they could not be opened", async () => {
    const { feed, read, position, where } = bareFeed({ max: 1 });
    position.answer = () => Promise.reject(new Error("broken"));
    await expect(read("s")).rejects.toThrow("broken");
    position.answer = where;
    expect((await read("s")).sink.ended).toBeNull();
    feed.stop();
  });
});

describe("ten thousand streams", () => {
  const many = async (bare: ReturnType<typeof bareFeed>, count: number) =>
    await Promise.all(Array.from({ length: count }, (_, index) => bare.read(`s${index}`)));

  it("receive heartbeats in slices that yield to the event loop", async () => {
    const bare = bareFeed();
    const subscribers = await many(bare, 450);
    const beaten = () => subscribers.filter(({ sink }) => sink.text.includes(": heartbeat")).length;
    const seen: number[] = [];
    const watch = () => {
      seen.push(beaten());
      if (seen.length < 10) setImmediate(watch);
    };
    await bare.clock.advance(14_999);
    const advance = bare.clock.advance(1);
    watch();
    await advance;
    await until(() => seen.length === 10);
    expect([...new Set(seen)].filter((count) => count > 0)).toEqual([200, 400, 450]);
    bare.feed.stop();
  });

  it("record the use of each session once every four minutes, in batches", async () => {
    const bare = bareFeed();
    await many(bare, 1_100);
    await bare.read("s0");
    await bare.clock.advance(4 * 60_000 - 1);
    expect(bare.touched).toEqual([]);
    await bare.clock.advance(1);
    await until(() => bare.touched.length === 3);
    expect(bare.touched.map(({ length }) => length)).toEqual([500, 500, 100]);
    expect(new Set(bare.touched.flat().map((used) => used.id)).size).toBe(1_100);
    expect(bare.touched[0]?.[0]).toEqual({ id: "s0", incarnation: "a" });
    bare.feed.stop();
  });
});
