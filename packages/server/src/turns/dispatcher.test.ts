import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startedTurn } from "./testing/started-turn.ts";
import { numbers, start } from "./testing/dispatcher-trial.ts";

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

  it.each([2, 32, 64, 65, 100])(
    "starts at once during a claim of one turn where %i may run: a claim takes no more places than turns may be there",
    async (total) => {
      const { chat, queue, runs, dispatcher, running } = await start({ total });
      await queue.commitAll();
      dispatcher.ring(1);
      expect([queue.pending, running.free]).toEqual([1, total - 1]);
      chat();
      await queue.commitAll();
      expect([numbers(runs), queue.pending, running.free]).toEqual([[1], 0, total - 1]);
    },
  );

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
