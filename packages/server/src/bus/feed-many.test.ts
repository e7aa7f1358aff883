import { describe, expect, it } from "vitest";
import { until } from "../../test/service.ts";
import { bareFeed, numbersOf } from "./bare-feed.suite.ts";
import { SlowSink } from "./given-log.suite.ts";
import { FOR_ANYBODY } from "../../test/stream-access.ts";

describe("the head of a session's log", () => {
  it("of a life that is over does not count for a stream of the next one", async () => {
    const { bus, position, where, feed, read, commit } = bareFeed();
    const old = await read("s");
    commit("s", "a", 1, 50);
    // A stream is opened on a life that is deleted before the answer is there; meanwhile others read the next life.
    const late = Promise.withResolvers<{
      life: string;
      head: number;
      app: string;
      epoch: number;
      streaming: null;
    }>();
    position.answer = () => late.promise;
    const first = read("s");
    await new Promise((resolve) => setImmediate(resolve));
    position.answer = where;
    bus.publish("s", { kind: "deleted", life: "a" });
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
    late.resolve({ life: "a", head: 50, app: "default", epoch: 0, streaming: null });
    expect((await first).sink.ended).toBe("finish");
    slow.drain();
    await new Promise((resolve) => setImmediate(resolve));
    commit("s", "b", 3, 4);
    expect(numbersOf(second)).toEqual([3, 4]);
    expect(numbersOf({ sink: slow })).toEqual([1, 2, 3, 4]);
    feed.stop();
  });

  it("has no text of a life before it, also where a place is read that is older than what was heard meanwhile", async () => {
    const { bus, position, feed, commit } = bareFeed();
    const message = {
      id: "m",
      sender: "agent",
      content: "said before",
      status: "streaming",
      created_at: "2026-01-01T00:00:00.000Z",
    } as const;
    bus.publish("s", {
      kind: "events",
      life: "a",
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
    late.resolve({ life: "b", head: 1, app: "default", epoch: 0, streaming: null });
    await opening;
    await until(() => numbersOf({ sink }).length === 1 || sink.text.includes("b-2"));
    sink.drain();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sink.text).not.toContain("said before");
    feed.stop();
  });

  it("is not forgotten when an older life is said to be over once more", async () => {
    const { bus, log, feed, read, commit } = bareFeed();
    commit("s", "b", 1, 300);
    const one = await read("s", "0");
    bus.publish("s", { kind: "deleted", life: "a" });
    await until(() => numbersOf(one).at(-1) === 300);
    expect(numbersOf(one)).toHaveLength(300);
    expect(log.head).toBe(300);
    feed.stop();
  });
});

describe("streams of a session", () => {
  it("are at most so many as allowed, those that are being opened among them, and closing makes room", async () => {
    const { feed, read, position, where } = bareFeed({ max: 2 });
    const gate = Promise.withResolvers<{
      life: string;
      head: number;
      app: string;
      epoch: number;
      streaming: null;
    }>();
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

  it("that could not be opened take no place", async () => {
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

  it("get their heartbeats in slices, between which others have their turn", async () => {
    const bare = bareFeed();
    const readers = await many(bare, 450);
    const beaten = () => readers.filter(({ sink }) => sink.text.includes(": heartbeat")).length;
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

  it("have their sessions' use noted in portions, each session once, every four minutes", async () => {
    const bare = bareFeed();
    await many(bare, 1_100);
    await bare.read("s0");
    await bare.clock.advance(4 * 60_000 - 1);
    expect(bare.touched).toEqual([]);
    await bare.clock.advance(1);
    await until(() => bare.touched.length === 3);
    expect(bare.touched.map(({ length }) => length)).toEqual([500, 500, 100]);
    expect(new Set(bare.touched.flat().map((used) => used.id)).size).toBe(1_100);
    expect(bare.touched[0]?.[0]).toEqual({ id: "s0", life: "a" });
    bare.feed.stop();
  });
});
