// A process that stops: what runs may end, and what does not goes back.

import { describe, expect, it } from "vitest";
import { start } from "./testing/dispatcher-trial.ts";

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

  it("tells others at once of what comes to it until it has ended", async () => {
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
