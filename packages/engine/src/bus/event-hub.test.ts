import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { until } from "../../../server/test/service.ts";
import type { Bus, BusListener, Following, SessionNotification } from "../core/ports/driven/bus.ts";
import type { LoadedSession, StreamingText } from "../core/ports/driven/event-hub.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { describeHub } from "@colloquy/testing/internal/bus/hub.suite";
import { ProcessEventHub } from "./event-hub.ts";

const version = (id: string, incarnation: string, head: number): SessionVersion => ({
  id,
  incarnation,
  app: null,
  head,
  epoch: 4,
  streamed: null,
});

/** A bus without notifications of other nodes. */
class QuietBus implements Bus {
  others: BusListener | null = null;
  stopped: string[] = [];

  publish(): void {
    // No other node exists.
  }

  notifyWork(): void {}

  listen(listener: BusListener): void {
    this.others = listener;
  }

  follow(sessionId: string): Following {
    return { ready: Promise.resolve(), stop: () => void this.stopped.push(sessionId) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface Asked {
  readonly id: string;
  readonly answer: PromiseWithResolvers<SessionVersion | null>;
}

let asked: Asked[];
let incarnations: Record<string, string[]>;
let warnings: number;
let received: [string, SessionNotification, string][];
let work: number;
let clock: ManualClock;
let inner: QuietBus;
let hub: ProcessEventHub;

beforeEach(() => {
  asked = [];
  incarnations = {};
  warnings = 0;
  received = [];
  work = 0;
  clock = new ManualClock();
  const logger = { debug() {}, info() {}, error() {}, warn: () => void (warnings += 1) };
  inner = new QuietBus();
  const versions = {
    of: (id: string) => {
      const answer = Promise.withResolvers<SessionVersion | null>();
      asked.push({ id, answer });
      return answer.promise;
    },
  };
  hub = new ProcessEventHub({ bus: inner, clock, logger, versions });
  hub.listen({
    onNotification: (...notification) => void received.push(notification),
    onWork: () => void (work += 1),
    incarnationsOf: (id) => incarnations[id] ?? [],
  });
});
afterEach(async () => {
  for (const { answer } of asked) answer.resolve(null);
  await hub.close();
});

const kinds = () =>
  received.map(([id, notification]) => `${id} ${notification.kind} ${notification.incarnation}`);

describeHub("without other nodes", (logger) => {
  return new ProcessEventHub({ bus: null, clock: new ManualClock(), logger, versions: null });
});

describe("ProcessEventHub", () => {
  it("announces the heads of followed sessions and possible work every two seconds", async () => {
    hub.follow("x");
    const other = hub.follow("x");
    await clock.advance(1_999);
    expect([asked.length, work]).toEqual([0, 0]);
    await clock.advance(1);
    asked[0]?.answer.resolve(version("x", "a", 7));
    await until(() => received.length > 0);
    expect(received).toEqual([["x", { kind: "moved", incarnation: "a", epoch: 4, head: 7 }, "elsewhere"]]);
    expect(work).toBe(1);
    other.stop();
    other.stop();
    await clock.advance(2_000);
    expect(asked).toHaveLength(2);
  });

  it("reads nothing when no session is followed", async () => {
    const following = hub.follow("x");
    const second = hub.follow("x");
    following.stop();
    following.stop();
    expect(inner.stopped).toEqual([]);
    second.stop();
    await clock.advance(2_000);
    expect(asked).toEqual([]);
    expect(inner.stopped).toEqual(["x"]);
  });

  it("announces each incarnation that is gone from the store as deleted, once", async () => {
    incarnations = { x: ["a", "b", "a"] };
    hub.follow("x");
    await clock.advance(2_000);
    asked[0]?.answer.resolve(version("x", "b", 1));
    await until(() => received.length > 1);
    expect(kinds()).toEqual(["x deleted a", "x moved b"]);
    await clock.advance(2_000);
    asked[1]?.answer.resolve(null);
    await until(() => received.length > 3);
    expect(kinds().slice(2)).toEqual(["x deleted a", "x deleted b"]);
  });

  it("does not announce an incarnation that started during the poll as deleted", async () => {
    hub.follow("x");
    await clock.advance(2_000);
    incarnations = { x: ["a"] };
    asked[0]?.answer.resolve(null);
    await hub.poll();
    expect(kinds()).toEqual([]);
  });

  it("keeps polling after store failures, logs them once, and polls at once after a resume", async () => {
    hub.follow("x");
    for (let n = 0; n < 2; n += 1) {
      await clock.advance(2_000);
      asked[n]?.answer.reject(new Error("away"));
      await hub.poll();
    }
    expect(warnings).toBe(1);
    inner.others?.onResumed();
    await until(() => asked.length === 3);
    asked[2]?.answer.resolve(version("x", "a", 1));
    await until(() => received.length === 1);
  });

  it("polls many sessions in batches", async () => {
    for (let n = 0; n < 501; n += 1) hub.follow(String(n));
    await clock.advance(2_000);
    expect(asked).toHaveLength(500);
    for (const { id, answer } of asked) answer.resolve(version(id, "a", 1));
    await until(() => asked.length === 501);
  });

  it("announces nothing after it is closed", async () => {
    incarnations = { x: ["a"] };
    hub.follow("x");
    await clock.advance(2_000);
    const closing = hub.close();
    asked[0]?.answer.resolve(null);
    await closing;
    expect(received).toEqual([]);
  });

  it("asks every listener for the incarnations it knows", async () => {
    incarnations = { x: ["a"] };
    hub.listen({ onNotification: () => undefined, incarnationsOf: () => ["b"] });
    hub.follow("x");
    await clock.advance(2_000);
    asked[0]?.answer.resolve(version("x", "b", 1));
    await until(() => received.length > 1);
    expect(kinds()).toEqual(["x deleted a", "x moved b"]);
  });

  it("polls nothing when no other process changes the store", async () => {
    const alone = new ProcessEventHub({
      bus: inner,
      clock,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      versions: null,
    });
    alone.listen({ onNotification: () => undefined, onWork: () => void (work += 10) });
    alone.follow("x");
    inner.others?.onResumed();
    await clock.advance(2_000);
    expect([asked.length, work]).toEqual([0, 1]);
    await alone.close();
  });

  it("tells listeners of this process what was evicted and loaded, and survives one that throws", () => {
    const told: string[] = [];
    hub.listen({
      onNotification: () => undefined,
      onEvicted: () => {
        throw new Error("broken");
      },
    });
    hub.listen({
      onNotification: () => undefined,
      onEvicted: (id) => told.push(`evicted ${id}`),
      onAnswerLoaded: ({ id }, { text }) => told.push(`loaded ${id} ${text}`),
    });
    hub.evicted("x");
    hub.answerLoaded({ id: "y" } as LoadedSession, { text: "so far" } as StreamingText);
    expect(told).toEqual(["evicted x", "loaded y so far"]);
  });
});
