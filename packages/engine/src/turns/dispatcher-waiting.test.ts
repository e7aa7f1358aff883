// Turns without a free slot: notification, claiming and counting.

import { describe, expect, it } from "vitest";
import { numbers, start } from "./testing/dispatcher-trial.ts";

describe("waiting turns", () => {
  it("are released at the start; a single process also releases those of all other owners", async () => {
    const alone = await start();
    expect(alone.queue.releasedFor).toEqual(["me"]);
    const { queue } = await start({ isAlone: false });
    expect(queue.releasedFor).toEqual([null]);
  });

  it("are announced to other processes when this one is full or stops", async () => {
    const { queue, chat, called, dispatcher } = await start({ total: 1 });
    chat();
    await queue.commitAll();
    expect(called.count).toBe(0);
    chat();
    await queue.commitAll();
    expect(called.count).toBe(1);
    // Work announced by others is not announced again, so that full processes do not notify each other
    // endlessly.
    for (let n = 0; n < 10; n += 1) dispatcher.claimAnnounced();
    await queue.commitAll();
    expect(called.count).toBe(1);
    const stopping = dispatcher.stop(0);
    await queue.commitAll();
    await stopping;
    expect(called.count).toBe(2);
  });

  it("are claimed again one second after a store failure, before later chats", async () => {
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
    for (let n = 0; n < 5; n += 1) dispatcher.workArrived();
    expect([clock.timers - idleTimers, running.free]).toEqual([1, 1]);
    await clock.advance(1_000);
    await queue.commitAll();
    expect(numbers(runs)).toEqual([2]);
    expect(clock.timers).toBe(idleTimers);
  });

  it("are all claimed after one announcement, because others may have added more", async () => {
    const { queue, runs, dispatcher } = await start({ total: 9, isAlone: false });
    await queue.commitAll();
    queue.waiting.push(...[1, 2, 3].map((number) => ({ number, provider: "p", since: 0 })));
    dispatcher.workArrived(1);
    await queue.commitAll();
    expect(numbers(runs)).toEqual([1, 2, 3]);
  });

  it("run even if one of them cannot be announced", async () => {
    let broken = 1;
    const trial = await start({
      total: 2,
      apply: () => {
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
    expect(logged).toContain("could not announce a claimed turn");
  });

  it("are recounted after an interrupt dropped some, and the next chat is accepted", async () => {
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
    // A count is valid for one second.
    expect(await full()).toBe(true);
    await clock.advance(1_000);
    expect(await full()).toBe(false);
    chat();
    await queue.commitAll();
    await clock.advance(1_000);
    expect(await full()).toBe(true);
  });

  it("keep the queue full if more turns wait than were counted", async () => {
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

  it.each(["before", "after"])("are counted exactly when a claim is requested %s a count", async (order) => {
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
    // The count stops at three, and the claim may have taken one of the counted turns.
    expect(await full).toBe(true);
    expect(dispatcher.waiting).toBe(order === "before" ? 3 : 2);
    await clock.advance(1_000);
    const again = dispatcher.isFull();
    await queue.commitAll();
    expect([await again, dispatcher.waiting, queue.waiting.length]).toEqual([true, 3, 3]);
  });
});
