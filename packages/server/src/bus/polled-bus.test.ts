import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { until } from "../../test/service.ts";
import type { Bus, BusListener, Following, SessionNote } from "../core/ports/bus.ts";
import type { SessionVersion } from "../core/ports/session-store.ts";
import { PolledBus } from "./polled-bus.ts";

const version = (id: string, life: string, head: number): SessionVersion => ({
  id,
  life,
  app: null,
  head,
  epoch: 4,
  streamed: null,
});

/** A bus on which others say nothing by themselves. */
class QuietBus implements Bus {
  others: BusListener | null = null;
  stopped: string[] = [];

  publish(): void {
    // Nobody hears it.
  }

  ring(): void {
    // As above.
  }

  listen(listener: BusListener): () => void {
    this.others = listener;
    return () => undefined;
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
let lives: Record<string, string[]>;
let warnings: number;
let heard: [string, SessionNote, string][];
let work: number;
let clock: ManualClock;
let inner: QuietBus;
let bus: PolledBus;

beforeEach(() => {
  asked = [];
  lives = {};
  warnings = 0;
  heard = [];
  work = 0;
  clock = new ManualClock();
  const logger = { debug() {}, info() {}, error() {}, warn: () => void (warnings += 1) };
  inner = new QuietBus();
  bus = new PolledBus({
    bus: inner,
    clock,
    logger,
    version: (id) => {
      const answer = Promise.withResolvers<SessionVersion | null>();
      asked.push({ id, answer });
      return answer.promise;
    },
    lives: (id) => lives[id] ?? [],
  });
  bus.listen({ onNote: (...note) => void heard.push(note), onWork: () => void (work += 1) });
});
afterEach(async () => {
  for (const { answer } of asked) answer.resolve(null);
  await bus.close();
});

const kinds = () => heard.map(([id, note]) => `${id} ${note.kind} ${note.life}`);

describe("a bus that asks the store", () => {
  it("says every two seconds where the sessions stand that are followed, and that there may be work", async () => {
    bus.follow("x");
    const other = bus.follow("x");
    await clock.advance(1_999);
    expect([asked.length, work]).toEqual([0, 0]);
    await clock.advance(1);
    asked[0]?.answer.resolve(version("x", "a", 7));
    await until(() => heard.length > 0);
    expect(heard).toEqual([["x", { kind: "moved", life: "a", epoch: 4, head: 7 }, "elsewhere"]]);
    expect(work).toBe(1);
    other.stop();
    other.stop();
    await clock.advance(2_000);
    expect(asked).toHaveLength(2);
  });

  it("asks for nothing when nobody follows any longer", async () => {
    const following = bus.follow("x");
    following.stop();
    await clock.advance(2_000);
    expect(asked).toEqual([]);
    expect(inner.stopped).toEqual(["x"]);
  });

  it("ends the lives that the store does not have any longer, and each of them once", async () => {
    lives = { x: ["a", "b", "a"] };
    bus.follow("x");
    await clock.advance(2_000);
    asked[0]?.answer.resolve(version("x", "b", 1));
    await until(() => heard.length > 1);
    expect(kinds()).toEqual(["x deleted a", "x moved b"]);
    await clock.advance(2_000);
    asked[1]?.answer.resolve(null);
    await until(() => heard.length > 3);
    expect(kinds().slice(2)).toEqual(["x deleted a", "x deleted b"]);
  });

  it("does not end a life that began while the store was asked", async () => {
    bus.follow("x");
    await clock.advance(2_000);
    lives = { x: ["a"] };
    asked[0]?.answer.resolve(null);
    await bus.poll();
    expect(kinds()).toEqual([]);
  });

  it("goes on after a store that failed, says so once, and asks at once when notes may have been lost", async () => {
    bus.follow("x");
    for (let n = 0; n < 2; n += 1) {
      await clock.advance(2_000);
      asked[n]?.answer.reject(new Error("away"));
      await bus.poll();
    }
    expect(warnings).toBe(1);
    inner.others?.onResumed?.();
    await until(() => asked.length === 3);
    asked[2]?.answer.resolve(version("x", "a", 1));
    await until(() => heard.length === 1);
  });

  it("asks for many sessions in portions, so that nobody waits behind all of them", async () => {
    for (let n = 0; n < 501; n += 1) bus.follow(String(n));
    await clock.advance(2_000);
    expect(asked).toHaveLength(500);
    for (const { id, answer } of asked) answer.resolve(version(id, "a", 1));
    await until(() => asked.length === 501);
  });

  it("says nothing any longer when it is closed", async () => {
    lives = { x: ["a"] };
    bus.follow("x");
    await clock.advance(2_000);
    const closing = bus.close();
    asked[0]?.answer.resolve(null);
    await closing;
    expect(heard).toEqual([]);
  });
});
