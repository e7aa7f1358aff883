// A stopping process: running turns may end, the others are handed back.

import { describe, expect, it } from "vitest";
import { start } from "./testing/dispatcher-trial.ts";

describe("stop", () => {
  it("waits for running turns up to the grace period, and starts none", async () => {
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

  it("notifies other processes at once of work that arrives during the stop", async () => {
    const { chat, queue, runs, dispatcher, called } = await start();
    chat();
    await queue.commitAll();
    const stopping = dispatcher.stop(20_000);
    const before = called.count;
    chat();
    await queue.commitAll();
    expect(called.count).toBe(before + 1);
    runs[0]!.end();
    await stopping;
  });

  it("aborts turns after the grace period, and hands them back when their runs end", async () => {
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

  it("abandons a run that ignores the abort, and leaves its turn to its lease", async () => {
    const { chat, clock, queue, runs, dispatcher, logged } = await start({ total: 2, honorsAbort: false });
    chat();
    chat();
    await queue.commitAll();
    const [deaf, other] = runs;
    const stopping = dispatcher.stop(0);
    other!.end();
    await clock.advance(5_000);
    await stopping;
    expect(logged).toContain("turns did not stop after the abort; their leases will expire");
    expect(queue.handedBack).toEqual([other!.turn.epoch]);
    deaf!.end();
  });

  it("does not hand back a turn with a defect, which counts as an attempt", async () => {
    const { chat, queue, runs, dispatcher } = await start({ honorsAbort: false });
    chat();
    await queue.commitAll();
    const stopping = dispatcher.stop(0);
    runs[0]!.crash();
    await stopping;
    expect(queue.handedBack).toEqual([]);
  });

  it("continues, and logs it, when the store fails to take turns back", async () => {
    const { chat, queue, dispatcher, logged } = await start();
    chat();
    await queue.commitAll();
    queue.failures = 1;
    await dispatcher.stop(0);
    expect(logged).toEqual(["could not hand back stopped turns; this counts as one of their attempts"]);
  });

  it("hands back turns that started during the stop", async () => {
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
    // Turns of the current claim must be handed back before the store closes.
    expect(isOver).toBe(false);
    await queue.commitAll();
    await stopping;
    expect(runs).toHaveLength(0);
    expect(running.free).toBe(2);
    // The second turn was running, the third being claimed.
    expect(new Set(queue.handedBack)).toEqual(new Set([2, 3]));
  });
});
