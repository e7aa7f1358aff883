import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceptedChat, startedTurn } from "./testing/started-turn.ts";
import { numbers, start } from "./testing/dispatcher-trial.ts";

describe("chat", () => {
  it("runs at once in a free slot", async () => {
    const { chat, queue, runs, dispatcher } = await start({ total: 2 });
    chat();
    chat();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([1, 2]);
    expect(dispatcher.waiting).toBe(0);
  });

  it("waits without a free slot; the longest waiting turn runs next", async () => {
    const { chat, queue, runs, applied, dispatcher } = await start();
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
    expect(applied).toEqual([2, 3]);
    expect(dispatcher.waiting).toBe(0);
  });

  it("triggers no claim behind another turn of its session", async () => {
    const { dispatcher, queue, called } = await start({ total: 2, isAlone: false });
    const [first, second] = [dispatcher.reserve(), dispatcher.reserve()];
    first.settle(acceptedChat(startedTurn({ sessionId: "one", model: "p/m" })));
    second.settle(acceptedChat("session"));
    // No claim was requested, the slot is free again, and no process was notified.
    expect([queue.pending, dispatcher.waiting, called.count]).toEqual([0, 1, 0]);
    expect(dispatcher.reserve().claim).not.toBeNull();
  });

  it("does not overtake a chat without a slot whose transaction is in progress", async () => {
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

  it("starts at once beside a chat without a slot if both fit", async () => {
    const { chat, queue, runs } = await start({ total: 2 });
    for (let n = 0; n < 3; n += 1) chat();
    await queue.commit();
    await queue.commit();
    for (const run of runs) run.end();
    await new Promise((resolve) => setImmediate(resolve));
    chat();
    // Commits the third and fourth transactions; nothing was claimed yet.
    await queue.commit();
    await queue.commit();
    expect(numbers(runs)).toEqual([4]);
    await queue.commitAll();
    expect(numbers(runs)).toEqual([4, 3]);
  });

  it("starts at once if a claim requested fewer turns than there are free slots, however many turns wait in their sessions", async () => {
    const { dispatcher, queue } = await start({ total: 100 });
    for (let n = 0; n < 500; n += 1) dispatcher.reserve().settle(acceptedChat("session"));
    dispatcher.workArrived(1);
    expect([queue.pending, dispatcher.waiting]).toEqual([1, 501]);
    expect(dispatcher.reserve().claim).not.toBeNull();
  });

  it.each([2, 32, 64, 65, 100])(
    "starts at once during a claim of one turn with %i slots, because a claim reserves only as many as it needs",
    async (total) => {
      const { chat, queue, runs, dispatcher, running } = await start({ total });
      await queue.commitAll();
      dispatcher.workArrived(1);
      expect([queue.pending, running.free]).toEqual([1, total - 1]);
      chat();
      await queue.commitAll();
      expect([numbers(runs), queue.pending, running.free]).toEqual([[1], 0, total - 1]);
    },
  );

  it("does not overtake turns that the current claim leaves behind", async () => {
    const { chat, queue, runs } = await start({ total: 70 });
    for (let n = 0; n < 150; n += 1) chat();
    await queue.commitAll();
    expect(queue.waiting).toHaveLength(80);
    for (const run of runs) run.end();
    // The claim requests 64 of 80 turns; the 6 other free slots are reserved for older turns.
    await new Promise((resolve) => setImmediate(resolve));
    chat();
    await queue.commitAll();
    expect(queue.overtaken).toEqual([]);
    expect(numbers(runs)).toEqual(Array.from({ length: 70 }, (_, index) => index + 71));
  });

  it("returns its slot when rejected, and wakes a chat that found no slot", async () => {
    const { chat, queue, runs, running } = await start();
    chat("p", true);
    chat();
    // The second chat waits without a running turn whose end could wake it.
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    runs[0]!.end();
    await queue.commitAll();
    expect(running.free).toBe(1);
  });

  it("returns its slot when it is rejected last", async () => {
    const { queue, runs, dispatcher } = await start();
    const place = dispatcher.reserve();
    void queue.chat(dispatcher.reserve());
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    place.settle(null);
    await queue.commitAll();
    expect(runs).toHaveLength(1);
  });
});

describe("provider limit", () => {
  it("holds back the provider's turns until the provider has capacity, and no other turns", async () => {
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

  it("is checked again if the provider seemed full only because of reserved slots", async () => {
    const { queue, runs, dispatcher } = await start({ total: 9, byProvider: { slow: 1 } });
    const other = dispatcher.reserve();
    void queue.chat(dispatcher.reserve(), "slow");
    await queue.commitAll();
    expect(runs).toHaveLength(0);
    other.settle(null);
    await queue.commitAll();
    expect(runs).toHaveLength(1);
  });
});

describe("running turn", () => {
  it("is aborted when its session reaches a later epoch or is deleted", async () => {
    const { chat, queue, runs, running, dispatcher } = await start({ total: 3, honorsAbort: false });
    for (let n = 0; n < 3; n += 1) chat();
    await queue.commitAll();
    const [first, second, third] = runs;
    running.supersede(1, 1);
    expect(first!.signal.aborted).toBe(false);
    running.supersede(1, 7);
    expect(first!.signal.aborted).toBe(true);
    dispatcher.abandon(second!.turn.sessionId, "another incarnation");
    expect(second!.signal.aborted).toBe(false);
    dispatcher.abandon(second!.turn.sessionId, second!.turn.incarnation);
    expect([second!.signal.aborted, third!.signal.aborted]).toEqual([true, false]);
  });

  it("frees its slot on a defect", async () => {
    const { chat, queue, runs, logged } = await start();
    chat();
    chat();
    await queue.commitAll();
    runs[0]!.crash();
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    expect(logged).toContain("a turn stopped on an unexpected error; it runs again when its lease expires");
  });
});

describe("any interleaving", () => {
  it("leaks no slot, loses no turn, exceeds no limit and keeps the order", async () => {
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
              run.crash();
              queue.release(run.turn);
              dispatcher.workArrived(1);
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
