import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import type { StartedTurn } from "../core/turn.ts";
import { Dispatcher } from "./dispatcher.ts";
import { RunningTurns } from "./running-turns.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { TurnQueue } from "./testing/turn-queue.ts";

interface Run {
  readonly turn: StartedTurn;
  readonly signal: AbortSignal;
  end(): void;
  breakDown(): void;
}

interface Trial {
  readonly clock: ManualClock;
  readonly queue: TurnQueue;
  readonly running: RunningTurns;
  readonly dispatcher: Dispatcher;
  /** Runs that have not ended, in the order in which they began. */
  readonly runs: Run[];
  readonly settled: number[];
  readonly logged: string[];
  /** How often other processes were told that turns wait. */
  readonly called: { readonly count: number };
  /** Sends a chat whose transaction happens when the test says so. */
  chat(provider?: string, rejected?: boolean): void;
}

interface TrialOptions {
  readonly total?: number;
  readonly byProvider?: Readonly<Record<string, number>>;
  readonly maxWaiting?: number;
  /** Whether runs end when they are aborted. */
  readonly obedient?: boolean;
  readonly settle?: () => void;
  readonly isAlone?: boolean;
}

async function start(options: TrialOptions = {}): Promise<Trial> {
  const clock = new ManualClock();
  const total = options.total ?? 1;
  const queue = new TurnQueue(total);
  const running = new RunningTurns({ total, byProvider: options.byProvider ?? {} });
  const runs: Run[] = [];
  const settled: number[] = [];
  const called = { count: 0 };
  const logged: string[] = [];
  const log = (_fields: unknown, message: string): void => void logged.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const dispatcher = new Dispatcher({
    // The rest of the port is the turns' own, which nobody here runs.
    store: queue as unknown as TurnStore,
    running,
    clock,
    owner: "me",
    models: () => ({}),
    logger,
    run: (turn, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (options.obedient ?? true) signal.addEventListener("abort", () => resolve());
      const run = { turn, signal, end: resolve, breakDown: () => reject(new Error("defect")) };
      runs.push(run);
      return promise.finally(() => {
        runs.splice(runs.indexOf(run), 1);
        queue.end();
      });
    },
    settle: ({ session }) => {
      settled.push(session.key);
      options.settle?.();
    },
    maxWaiting: options.maxWaiting ?? 100,
    isAlone: options.isAlone ?? true,
    callOthers: () => (called.count += 1),
  });
  const started = dispatcher.start();
  await queue.commitAll();
  await started;
  await queue.commitAll();
  const chat = (provider?: string, rejected?: boolean): void =>
    void queue.chat(dispatcher.reserve(), provider, rejected);
  return { clock, queue, running, dispatcher, runs, settled, logged, called, chat };
}

function numbers(runs: readonly Run[]): number[] {
  return runs.map(({ turn }) => turn.turn);
}

describe("a chat", () => {
  it("runs at once when there is a place", async () => {
    const { chat, queue, runs, dispatcher } = await start({ total: 2 });
    chat();
    chat();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([1, 2]);
    expect(dispatcher.waiting).toBe(0);
  });

  it("waits when there is none, and the one that has waited longest runs when there is", async () => {
    const { chat, queue, runs, settled, dispatcher } = await start();
    chat();
    await queue.commitAll();
    chat();
    chat();
    await queue.commitAll();
    expect(dispatcher.waiting).toBe(2);
    runs[0]!.end();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    runs[0]!.end();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([3]);
    expect(settled).toEqual([2, 3]);
    expect(dispatcher.waiting).toBe(0);
  });

  it("asks nobody for a place while another turn of its session is before it", async () => {
    const { dispatcher, queue, called } = await start({ total: 2, isAlone: false });
    const [first, second] = [dispatcher.reserve(), dispatcher.reserve()];
    first.settle(startedTurn({ sessionId: "one", sessionKey: 1, turn: 1, epoch: 1, model: "p/m" }), null);
    second.settle(null, "its session");
    // No claim was asked for, the place that it had is free again, and nobody else was told.
    expect([queue.pending, dispatcher.waiting, called.count]).toEqual([0, 1, 0]);
    expect(dispatcher.reserve().claim).not.toBeNull();
  });

  it("does not overtake one that found no place and whose transaction is still under way", async () => {
    const { chat, queue, runs } = await start();
    chat();
    await queue.commitAll();
    chat();
    runs[0]!.end();
    await new Promise((resolve) => setImmediate(resolve));
    chat();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
  });

  it("starts at once beside one that found no place, where there is one for both by now", async () => {
    const { chat, queue, runs } = await start({ total: 2 });
    for (let n = 0; n < 3; n += 1) chat();
    await queue.commit();
    await queue.commit();
    for (const run of runs) run.end();
    await new Promise((resolve) => setImmediate(resolve));
    chat();
    // The third one's transaction, then the fourth one's: nothing was claimed yet.
    await queue.commit();
    await queue.commit();
    expect(numbers(runs)).toEqual([4]);
    await queue.commitAll();
    expect(numbers(runs)).toEqual([4, 3]);
  });

  it("starts at once during a claim of fewer turns than there are places, however many wait in their sessions", async () => {
    const { dispatcher, queue } = await start({ total: 100 });
    for (let n = 0; n < 500; n += 1) dispatcher.reserve().settle(null, "its session");
    dispatcher.ring(1);
    expect([queue.pending, dispatcher.waiting]).toEqual([1, 501]);
    expect(dispatcher.reserve().claim).not.toBeNull();
  });

  it("does not overtake those that a claim under way leaves behind", async () => {
    const { chat, queue, runs } = await start({ total: 70 });
    for (let n = 0; n < 150; n += 1) chat();
    await queue.commitAll();
    expect(queue.waiting).toHaveLength(80);
    for (const run of runs) run.end();
    // The claim asks for 64 of 80, and 6 places are left: none of them is for who comes now.
    await new Promise((resolve) => setImmediate(resolve));
    chat();
    await queue.commitAll();
    expect(queue.overtaken).toEqual([]);
    expect(numbers(runs)).toEqual(Array.from({ length: 70 }, (_, index) => index + 71));
  });

  it("that is rejected gives its place back, and wakes the one that had found none meanwhile", async () => {
    const { chat, queue, runs, running } = await start();
    chat("p", true);
    chat();
    // The second one's transaction is first in no order that matters: it waits, and nobody runs who could end.
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    runs[0]!.end();
    await queue.commitAll();
    expect(running.free).toBe(1);
  });

  it("that is rejected last does so too", async () => {
    const { queue, runs, dispatcher } = await start();
    const place = dispatcher.reserve();
    void queue.chat(dispatcher.reserve());
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    place.settle(null, null);
    await queue.commitAll();
    expect(runs).toHaveLength(1);
  });
});

describe("a provider's limit", () => {
  it("holds its turns back and lets others by, until it has room", async () => {
    const { chat, queue, runs } = await start({ total: 9, byProvider: { slow: 1 } });
    chat("slow");
    chat("slow");
    chat("slow");
    chat("fast");
    await queue.commitAll();
    expect(numbers(runs)).toEqual([1, 4]);
    runs[0]!.end();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([4, 2]);
  });

  it("that only seemed reached, because promised places count against it, is looked at again", async () => {
    const { queue, runs, dispatcher } = await start({ total: 9, byProvider: { slow: 1 } });
    const other = dispatcher.reserve();
    void queue.chat(dispatcher.reserve(), "slow");
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    other.settle(null, null);
    await queue.commitAll();
    expect(runs).toHaveLength(1);
  });
});

describe("turns that wait", () => {
  it("are taken over at the start, those of every other owner by a process that is alone", async () => {
    const alone = await start();
    expect(alone.queue.releasedFor).toEqual(["me"]);
    const { queue } = await start({ isAlone: false });
    expect(queue.releasedFor).toEqual([null]);
  });

  it("are told to others where there is no room here, and when this process stops", async () => {
    const { queue, chat, called, dispatcher } = await start({ total: 1 });
    chat();
    await queue.commitAll();
    expect(called.count).toBe(0);
    chat();
    await queue.commitAll();
    expect(called.count).toBe(1);
    // Others who are full too must not ring back and forth: what came from them goes no further.
    for (let n = 0; n < 10; n += 1) dispatcher.look();
    await queue.commitAll();
    expect(called.count).toBe(1);
    const stopping = dispatcher.stop(0);
    await queue.commitAll();
    await stopping;
    expect(called.count).toBe(2);
  });

  it("are claimed again a second after the store failed, once, and go before chats that come meanwhile", async () => {
    const { chat, clock, queue, runs, dispatcher, running } = await start();
    const idleTimers = clock.timers;
    chat();
    await queue.commitAll();
    chat();
    await queue.commitAll();
    queue.failures = 1;
    runs[0]!.end();
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    chat();
    await queue.commitAll();
    for (let n = 0; n < 5; n += 1) dispatcher.ring();
    expect([clock.timers - idleTimers, running.free]).toEqual([1, 1]);
    await clock.advance(1_000);
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    expect(clock.timers).toBe(idleTimers);
  });

  it("run although one of them could not be announced", async () => {
    let broken = 1;
    const trial = await start({
      total: 2,
      settle: () => {
        if (broken-- > 0) throw new Error("defect");
      },
    });
    const { chat, queue, runs, running, logged } = trial;
    chat();
    chat();
    await queue.commitAll();
    chat();
    chat();
    await queue.commitAll();
    for (const run of runs) run.end();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([3, 4]);
    expect(running.free).toBe(0);
    expect(logged).toContain("a claimed turn could not be announced");
  });

  it("are counted exactly where an interrupt has dropped some, and the next chat is let in", async () => {
    const { chat, clock, queue, dispatcher } = await start({ maxWaiting: 2 });
    for (let n = 0; n < 3; n += 1) chat();
    await queue.commitAll();
    const full = async (): Promise<boolean> => {
      const answer = dispatcher.isFull();
      await queue.commitAll();
      return await answer;
    };
    expect(await full()).toBe(true);
    queue.waiting.pop();
    // A count is good for a second.
    expect(await full()).toBe(true);
    await clock.advance(1_000);
    expect(await full()).toBe(false);
    chat();
    await queue.commitAll();
    await clock.advance(1_000);
    expect(await full()).toBe(true);
  });

  it("beyond what is counted keep the house full after a start", async () => {
    const { queue, dispatcher, clock } = await start({ maxWaiting: 2, total: 1 });
    queue.waiting.push(...[1, 2, 3, 4].map((number) => ({ number, provider: "p", since: 0 })));
    const starting = dispatcher.start();
    await queue.commitAll();
    await starting;
    await queue.commitAll();
    await clock.advance(1_000);
    const answer = dispatcher.isFull();
    await queue.commitAll();
    expect(await answer).toBe(true);
    expect(queue.waiting).toHaveLength(3);
  });

  it.each(["before", "after"])("are counted exactly when a claim is asked for %s a count", async (order) => {
    const { chat, clock, queue, runs, dispatcher } = await start({ maxWaiting: 3 });
    for (let n = 0; n < 5; n += 1) chat();
    await queue.commitAll();
    await clock.advance(1_000);
    const claim = async (): Promise<void> => {
      runs[0]!.end();
      await new Promise((resolve) => setImmediate(resolve));
    };
    if (order === "before") await claim();
    const full = dispatcher.isFull();
    if (order === "after") await claim();
    await queue.commitAll();
    // The count stops at three, of which the claim may then have taken one.
    expect(await full).toBe(true);
    expect(dispatcher.waiting).toBe(order === "before" ? 3 : 2);
    await clock.advance(1_000);
    const again = dispatcher.isFull();
    await queue.commitAll();
    expect([await again, dispatcher.waiting, queue.waiting.length]).toEqual([true, 3, 3]);
  });
});

describe("a turn that runs", () => {
  it("is stopped when its session has moved on to a later epoch, or its life is over", async () => {
    const { chat, queue, runs, dispatcher } = await start({ total: 3, obedient: false });
    for (let n = 0; n < 3; n += 1) chat();
    await queue.commitAll();
    const [first, second, third] = runs;
    const session = (key: number, epoch: number) => ({ key, epoch }) as never;
    dispatcher.supersede(session(1, 1));
    expect(first!.signal.aborted).toBe(false);
    dispatcher.supersede(session(1, 7));
    expect(first!.signal.aborted).toBe(true);
    dispatcher.abandon(second!.turn.sessionId, "another life");
    expect(second!.signal.aborted).toBe(false);
    dispatcher.abandon(second!.turn.sessionId, second!.turn.life);
    expect([second!.signal.aborted, third!.signal.aborted]).toEqual([true, false]);
  });

  it("gives its place back when it stops on a defect", async () => {
    const { chat, queue, runs, logged } = await start();
    chat();
    chat();
    await queue.commitAll();
    runs[0]!.breakDown();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    expect(logged).toContain("a turn stopped on a defect");
  });
});

describe("a stop", () => {
  it("waits for turns that run as long as they may take, and starts none", async () => {
    const { chat, clock, queue, runs, dispatcher } = await start();
    chat();
    await queue.commitAll();
    let stopped = false;
    const stopping = dispatcher.stop(20_000).then(() => (stopped = true));
    chat();
    await queue.commitAll();
    await clock.advance(19_999);
    expect([stopped, runs[0]!.signal.aborted]).toEqual([false, false]);
    runs[0]!.end();
    await stopping;
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    expect(queue.waiting).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });

  it("stops turns that take longer, and hands them back when their runs are over", async () => {
    const { chat, clock, queue, runs, dispatcher } = await start();
    chat();
    await queue.commitAll();
    const { signal, turn } = runs[0]!;
    const stopping = dispatcher.stop(20_000);
    await clock.advance(19_999);
    expect([signal.aborted, queue.handedBack]).toEqual([false, []]);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    await stopping;
    expect(queue.handedBack).toEqual([turn.epoch]);
  });

  it("goes on without a run that does not listen, and leaves its turn to its lease", async () => {
    const { chat, clock, queue, runs, dispatcher, logged } = await start({ total: 2, obedient: false });
    chat();
    chat();
    await queue.commitAll();
    const [deaf, other] = runs;
    const stopping = dispatcher.stop(0);
    other!.end();
    await clock.advance(5_000);
    await stopping;
    expect(logged).toContain("turns did not stop when they were told to");
    expect(queue.handedBack).toEqual([other!.turn.epoch]);
    deaf!.end();
  });

  it("hands no turn back that stops on a defect: that counts as an attempt", async () => {
    const { chat, queue, runs, dispatcher } = await start({ obedient: false });
    chat();
    await queue.commitAll();
    const stopping = dispatcher.stop(0);
    runs[0]!.breakDown();
    await stopping;
    expect(queue.handedBack).toEqual([]);
  });

  it("goes on when the store does not take turns back, and says so", async () => {
    const { chat, queue, dispatcher, logged } = await start();
    chat();
    await queue.commitAll();
    queue.failures = 1;
    await dispatcher.stop(0);
    expect(logged).toEqual(["stopped turns could not be handed back: this counts as one of their attempts"]);
  });

  it("hands turns back that were started while it came", async () => {
    const { chat, queue, runs, running, dispatcher } = await start({ total: 2 });
    chat();
    chat();
    await queue.commitAll();
    chat();
    await queue.commitAll();
    runs[0]!.end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(queue.pending).toBe(1);
    let isOver = false;
    const stopping = dispatcher.stop(0).then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    // What the claim under way brings is to be handed back before the store is closed.
    expect(isOver).toBe(false);
    await queue.commitAll();
    await stopping;
    expect(runs).toHaveLength(0);
    expect(running.free).toBe(2);
    // The second one ran, the third was being claimed.
    expect(new Set(queue.handedBack)).toEqual(new Set([2, 3]));
  });
});

describe("any interleaving", () => {
  it("leaks no place, forgets no turn, exceeds no limit, and lets nobody overtake", async () => {
    const command = fc.record({
      kind: fc.constantFrom("chat", "chat", "commit", "commit", "end", "defect", "drop", "fail", "pass"),
      provider: fc.constantFrom("p", "q"),
      choice: fc.nat(10),
    });
    const limits = fc.constantFrom<Readonly<Record<string, number>>>({}, { p: 1 }, { p: 2, q: 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        limits,
        fc.array(command, { maxLength: 60 }),
        async (total, byProvider, commands) => {
          const trial = await start({ total, byProvider });
          const { clock, queue, running, runs, chat, dispatcher } = trial;
          for (const { kind, provider, choice } of commands) {
            const run = runs[choice % Math.max(1, runs.length)];
            if (kind === "chat") chat(provider, choice === 0);
            else if (kind === "commit") await queue.commit();
            else if (kind === "end") run?.end();
            else if (kind === "drop") queue.waiting.splice(choice, 1);
            else if (kind === "fail") queue.failures = 1;
            else if (kind === "pass") await clock.advance(1_000);
            else if (run !== undefined) {
              run.breakDown();
              queue.release(run.turn);
              dispatcher.ring(1);
            }
            await new Promise((resolve) => setImmediate(resolve));
            expect(running.size).toBeLessThanOrEqual(total);
            for (const [name, limit] of Object.entries(byProvider)) {
              expect(runs.filter(({ turn }) => turn.model.startsWith(name)).length).toBeLessThanOrEqual(
                limit,
              );
            }
            expect(dispatcher.waiting).toBeGreaterThanOrEqual(queue.pending > 0 ? 0 : queue.waiting.length);
          }
          queue.failures = 0;
          for (let round = 0; round < 3; round += 1) {
            await queue.commitAll();
            await clock.advance(1_000);
          }
          const busy = (name: string) => runs.filter(({ turn }) => turn.model.startsWith(name)).length;
          const stuck = queue.waiting.filter(
            ({ provider }) => busy(provider) < (byProvider[provider] ?? total),
          );
          if (running.free > 0) expect(stuck).toEqual([]);
          if (Object.keys(byProvider).length === 0) expect(queue.overtaken).toEqual([]);
          while (runs.length > 0) {
            runs[0]!.end();
            await queue.commitAll();
          }
          expect(queue.waiting).toEqual([]);
          expect(running.free).toBe(total);
        },
      ),
      { numRuns: 300 },
    );
  });
});
