// Streams that are opened while their session is loaded, deleted or born again, and many of them at a time.

import type { IncludeGroup } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FoldingReader } from "../../test/folding-reader.ts";
import type { BeforeCall } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { newId, RecordingSink, startService, until, type TestService } from "../../test/service.ts";
import type { SessionNote } from "../core/ports/bus.ts";
import type { EventStore } from "../core/ports/event-store.ts";
import { InProcessBus } from "./in-process-bus.ts";
import { Feed } from "./feed.ts";

const EVERYTHING: ReadonlySet<IncludeGroup> = new Set(["tools", "messages", "state"]);
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

let service: TestService;
let id: string;
let before: BeforeCall;
beforeEach(async () => {
  before = () => undefined;
  service = await startService({ beforeCall: (...call) => before(...call) });
  id = newId();
});
afterEach(() => service.close());

async function open(lastEventId: string | null = null) {
  const sink = new RecordingSink();
  const stream = await service.feed.open({ sessionId: id, include: EVERYTHING, lastEventId }, sink, null);
  return { sink, stream };
}

const idle = async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;

async function turn(text: string): Promise<void> {
  await service.say(id, text);
  (await service.model.next()).say("ok").finish();
  await until(idle);
}

/** Holds the calls of a method until the answer is called. */
function hold(method: string): () => void {
  const gate = Promise.withResolvers<void>();
  before = (called) => (called === method ? gate.promise : undefined);
  return () => {
    before = () => undefined;
    gate.resolve();
  };
}

describe("a stream that is being opened", () => {
  it("misses nothing that happens while its place in the log is looked up", async () => {
    await turn("one");
    const reader = new FoldingReader(service, id);
    await service.snapshot(id);
    const from = (await service.snapshot(id)).last_event_id;
    await turn("two");
    const letGo = hold("events.after");
    const sink = new RecordingSink();
    const opening = service.feed.open({ sessionId: id, include: EVERYTHING, lastEventId: from }, sink, null);
    await turn("three");
    letGo();
    await opening;
    await reader.connect();
    const head = (await service.snapshot(id)).last_event_id;
    await until(() => sink.text.includes(`id: ${head}\n`));
    const ids = [...sink.text.matchAll(/^id: .*-(\d+)$/gm)].map(([, number]) => Number(number));
    const first = Number(from.split("-")[1]) + 1;
    expect(ids).toEqual(ids.map((_, index) => first + index));
  });

  it("ends with the last notice when its session is deleted meanwhile", async () => {
    await turn("one");
    const from = (await service.snapshot(id)).last_event_id;
    await turn("two");
    const letGo = hold("events.after");
    const sink = new RecordingSink();
    const opening = service.feed.open({ sessionId: id, include: EVERYTHING, lastEventId: from }, sink, null);
    await until(() => service.registry.inMemory(id) !== null);
    await service.conversations.remove(id);
    letGo();
    await opening;
    expect(sink.text).toContain("session_deleted");
    expect(sink.ended).toBe("finish");
    expect(service.feed.openStreams).toBe(0);
  });

  it("leaves nothing behind when its session cannot be opened", async () => {
    before = (method) => (method === "sessions.open" ? Promise.reject(new Error("broken")) : undefined);
    await expect(open()).rejects.toThrow("broken");
    before = () => undefined;
    const { sink } = await open();
    await service.conversations.rename(id, "Seen");
    expect(sink.text).toContain("Seen");
  });

  it("ends at once when the service stops meanwhile", async () => {
    const letGo = hold("sessions.open");
    const sink = new RecordingSink();
    const opening = service.feed.open({ sessionId: id, include: EVERYTHING, lastEventId: null }, sink, null);
    service.feed.stop();
    letGo();
    await opening;
    expect(sink.ended).toBe("finish");
    expect(service.feed.openStreams).toBe(0);
  });
});

describe("streams of one id in two lives", () => {
  it("each end with their own life, and the next one begins at its own beginning", async () => {
    await turn("one");
    const old = await open();
    await service.conversations.remove(id);
    expect(old.sink.ended).toBe("finish");
    const { sink } = await open();
    await turn("new life");
    expect(old.sink.text).not.toContain("new life");
    const head = (await service.snapshot(id)).last_event_id;
    expect(sink.text).toContain(`id: ${head}\n`);
    expect(sink.ended).toBeNull();
  });
});

/** A feed whose bus, log and sessions are the test's. */
function bareFeed(options: { readonly max?: number | null } = {}) {
  const bus = new InProcessBus(SILENT);
  const clock = new ManualClock();
  const touched: (readonly { readonly id: string; readonly life: string }[])[] = [];
  const log = { life: "a", head: 0 };
  const events: EventStore = {
    after: async (_id, after, limit) => ({
      life: log.life,
      head: log.head,
      floor: 0,
      events: Array.from({ length: Math.min(limit, log.head - after) }, (_, index) =>
        titled(after + 1 + index),
      ),
    }),
    trim: () => Promise.resolve(0),
  };
  const position = { answer: (): Promise<{ life: string; head: number }> => Promise.resolve({ ...log }) };
  const feed = new Feed({
    bus,
    events,
    clock,
    ensure: () => position.answer(),
    touch: (used) => Promise.resolve(void touched.push(used)),
    maxStreamsPerSession: options.max ?? null,
  });
  const read = async (sessionId: string, lastEventId: string | null = null) => {
    const sink = new RecordingSink();
    const stream = await feed.open({ sessionId, include: new Set(), lastEventId }, sink, null);
    return { sink, stream };
  };
  const commit = (sessionId: string, life: string, first: number, last: number) => {
    Object.assign(log, { life, head: last });
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => titled(first + index));
    bus.publish(sessionId, { kind: "events", life, events: numbers } satisfies SessionNote);
  };
  return { bus, clock, touched, log, position, feed, read, commit };
}

const titled = (number: number) => ({ number, event: { type: "title_changed", new_title: "" } as const });
const numbers = ({ sink }: { sink: RecordingSink }) =>
  [...sink.text.matchAll(/^id: \w+-(\d+)$/gm)].map(([, number]) => Number(number));

describe("the head of a session's log", () => {
  it("of a life that is over does not count for a stream of the next one", async () => {
    const { bus, log, position, feed, read, commit } = bareFeed();
    // A stream is opened on a life that is deleted before the answer is there; meanwhile another one reads the next life.
    const late = Promise.withResolvers<{ life: string; head: number }>();
    position.answer = () => late.promise;
    const first = read("s");
    position.answer = () => Promise.resolve({ ...log });
    bus.publish("s", { kind: "deleted", life: "a" });
    commit("s", "b", 1, 2);
    const second = await read("s");
    late.resolve({ life: "a", head: 50 });
    expect((await first).sink.ended).toBe("finish");
    commit("s", "b", 3, 3);
    const third = await read("s");
    commit("s", "b", 4, 5);
    expect(second.sink.ended).toBeNull();
    expect(third.sink.ended).toBeNull();
    expect(numbers(third)).toEqual([4, 5]);
    feed.stop();
  });

  it("is not forgotten when an older life is said to be over once more", async () => {
    const { bus, log, feed, read, commit } = bareFeed();
    commit("s", "b", 1, 300);
    const one = await read("s", "0");
    bus.publish("s", { kind: "deleted", life: "a" });
    await until(() => numbers(one).at(-1) === 300);
    expect(numbers(one)).toHaveLength(300);
    expect(log.head).toBe(300);
    feed.stop();
  });
});

describe("streams of a session", () => {
  it("are at most so many as allowed, those that are being opened among them, and closing makes room", async () => {
    const { feed, read, position, log } = bareFeed({ max: 2 });
    const gate = Promise.withResolvers<{ life: string; head: number }>();
    position.answer = () => gate.promise;
    const opening = [read("s"), read("s")];
    await expect(read("s")).rejects.toMatchObject({
      status: 429,
      code: "too_many_streams",
      headers: { "retry-after": "10" },
    });
    gate.resolve({ ...log });
    const [first] = await Promise.all(opening);
    await expect(read("s")).rejects.toMatchObject({ status: 429 });
    expect((await read("other")).sink.ended).toBeNull();
    first?.stream.close();
    first?.stream.close();
    await read("s");
    await expect(read("s")).rejects.toMatchObject({ status: 429 });
    position.answer = () => Promise.reject(new Error("broken"));
    expect(feed.openStreams).toBe(3);
    feed.stop();
    expect(feed.openStreams).toBe(0);
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
    const advance = bare.clock.advance(15_000);
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
