import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { TurnStore } from "../core/ports/driven/store.ts";
import { LEASE_MS } from "../core/turn.ts";
import { HOLD_MS, Leases } from "./leases.ts";
import { type RunningTurn, RunningTurns } from "./running-turns.ts";
import { startedTurn } from "./testing/started-turn.ts";

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

let leases: Leases;
afterEach(() => leases.stop());

/** Creates leases of turns with these epochs over a store that the test controls. */
function keep(...epochs: readonly number[]) {
  return keepAs(false, epochs);
}

function keepAs(isAlone: boolean, epochs: readonly number[]) {
  const clock = new ManualClock();
  const running = new RunningTurns({ total: 9, byProvider: {} });
  const turns = epochs.map((epoch): RunningTurn => {
    const turn = startedTurn({ epoch, sessionKey: epoch });
    return { turn, controller: new AbortController(), heldUntil: clock.monotonic() + HOLD_MS };
  });
  running.reserve(turns.length);
  for (const turn of turns) running.add(turn);
  const store = {
    asked: [] as unknown[],
    released: [] as number[],
    renew: async (_owner: string, asked: readonly number[]): Promise<readonly number[]> => asked,
    busy: [] as readonly number[],
    releaseDeadLeases: async (): Promise<number> => 0,
  };
  const port: Pick<TurnStore, "renew" | "releaseDeadLeases"> = {
    renew: async (owner, asked, ms) => {
      store.asked.push([clock.monotonic(), owner, asked, ms]);
      const renewed = await store.renew(owner, asked);
      return { renewed, busy: store.busy.filter((epoch) => asked.includes(epoch)) };
    },
    releaseDeadLeases: () => store.releaseDeadLeases(),
  };
  leases = new Leases({
    store: port as TurnStore,
    running,
    clock,
    owner: "me",
    logger: SILENT,
    isAlone,
    onReleased: (count) => store.released.push(count),
  });
  leases.start();
  return {
    clock,
    running,
    turns,
    store,
    aborted: () => turns.map(({ controller }) => controller.signal.aborted),
  };
}

describe("leases of running turns", () => {
  it("are renewed every three seconds, so that their turns continue", async () => {
    const { clock, store, aborted } = keep(1, 2);
    await clock.advance(60_000);
    expect(store.asked.slice(0, 2)).toEqual([
      [3_000, "me", [1, 2], LEASE_MS],
      [6_000, "me", [1, 2], LEASE_MS],
    ]);
    expect(aborted()).toEqual([false, false]);
  });

  it("cause no store access when nothing runs", async () => {
    const { clock, store } = keep();
    await clock.advance(10_000);
    expect(store.asked).toEqual([]);
  });

  it("stop their turns at once when they have another owner", async () => {
    const { clock, store, aborted } = keep(1, 2);
    store.renew = async () => [2];
    await clock.advance(3_000);
    expect(aborted()).toEqual([true, false]);
  });

  it("leave their turns running while locked, and are all requested four times a second until unlocked", async () => {
    const { clock, store, aborted } = keep(1, 2);
    store.renew = async () => [2];
    store.busy = [1];
    await clock.advance(3_000);
    expect(store.asked[0]).toEqual([3_000, "me", [1, 2], LEASE_MS]);
    store.asked.length = 0;
    await clock.advance(500);
    store.renew = async (_owner, asked) => asked;
    store.busy = [];
    await clock.advance(2_000);
    expect(store.asked).toEqual([3_250, 3_500, 3_750].map((at) => [at, "me", [1, 2], LEASE_MS]));
    await clock.advance(8_000);
    expect(aborted()).toEqual([false, false]);
  });

  it("are renewed in time beside a locked one, however slow the store is", async () => {
    const { clock, store, aborted } = keep(1, 2);
    store.renew = async (_owner, asked) => {
      const isChanging = clock.monotonic() >= 3_000 && clock.monotonic() < 7_000;
      store.busy = isChanging ? [1] : [];
      await clock.sleep(1_100);
      return asked.filter((epoch) => !isChanging || epoch !== 1);
    };
    await clock.advance(30_000);
    expect(aborted()).toEqual([true, false]);
  });

  it("stop only their own turns when they are locked for too long", async () => {
    const { clock, store, aborted } = keep(1, 2);
    store.renew = async (_owner, asked) => asked.filter((epoch) => epoch === 2);
    store.busy = [1];
    await clock.advance(7_999);
    expect(aborted()).toEqual([false, false]);
    await clock.advance(60_000);
    expect(aborted()).toEqual([true, false]);
  });

  it("stop their turns when they are gone after being locked", async () => {
    const { clock, store, aborted } = keep(1);
    store.renew = async () => [];
    store.busy = [1];
    await clock.advance(3_000);
    store.busy = [];
    await clock.advance(250);
    expect(aborted()).toEqual([true]);
  });

  it("stop their turns eight seconds after the last successful request", async () => {
    const { clock, store, aborted } = keep(1);
    await clock.advance(3_000);
    store.renew = () => Promise.reject(new Error("The disk is gone"));
    await clock.advance(7_999);
    expect(aborted()).toEqual([false]);
    await clock.advance(1);
    expect(aborted()).toEqual([true]);
  });

  it("count from the request, not from the answer", async () => {
    const { clock, store, aborted } = keep(1);
    const answer = Promise.withResolvers<readonly number[]>();
    store.renew = () => answer.promise;
    await clock.advance(6_000);
    answer.resolve([1]);
    store.renew = () => new Promise(() => undefined);
    await clock.advance(4_999);
    expect(aborted()).toEqual([false]);
    await clock.advance(1);
    expect(aborted()).toEqual([true]);
  });

  it("are not requested again while a request is pending", async () => {
    const { clock, store } = keep(1);
    store.renew = () => new Promise(() => undefined);
    await clock.advance(9_000);
    expect(store.asked).toHaveLength(1);
  });

  it("are left to expire for an aborted turn", async () => {
    const { clock, turns, store } = keep(1, 2);
    turns[0]!.controller.abort();
    await clock.advance(3_000);
    expect(store.asked).toEqual([[3_000, "me", [2], LEASE_MS]]);
  });
});

describe("leases of a single process", () => {
  it("are renewed every three seconds, before expired ones are released", async () => {
    const { clock, store, aborted } = keepAs(true, [1]);
    const answer = Promise.withResolvers<readonly number[]>();
    store.renew = () => answer.promise;
    store.releaseDeadLeases = async () => 1;
    await clock.advance(3_000);
    expect([store.asked, store.released]).toEqual([[[3_000, "me", [1], LEASE_MS]], []]);
    answer.resolve([1]);
    await clock.advance(0);
    expect([store.released, aborted()]).toEqual([[1], [false]]);
  });

  it("stop no turn when they cannot be renewed, and are not released in the meantime", async () => {
    const { clock, store, aborted } = keepAs(true, [1]);
    store.renew = () => Promise.reject(new Error("The disk is full"));
    store.releaseDeadLeases = async () => 1;
    await clock.advance(60_000);
    expect([store.released, aborted()]).toEqual([[], [false]]);
  });

  it("stop the turns whose leases the store no longer has", async () => {
    const { clock, store, aborted } = keepAs(true, [1, 2]);
    store.renew = async () => [2];
    await clock.advance(3_000);
    expect(aborted()).toEqual([true, false]);
  });
});

describe("leases of dead owners", () => {
  it("are released every second, and their number is reported", async () => {
    const { clock, store } = keep();
    await clock.advance(1_000);
    store.releaseDeadLeases = async () => 3;
    await clock.advance(1_000);
    expect(store.released).toEqual([3]);
  });

  it("are released again after a store failure", async () => {
    const { clock, store } = keep();
    store.releaseDeadLeases = () => Promise.reject(new Error("The disk is gone"));
    await clock.advance(1_000);
    store.releaseDeadLeases = async () => 1;
    await clock.advance(1_000);
    expect(store.released).toEqual([1]);
  });

  it("are not released after the stop", async () => {
    const { clock, store } = keep(1);
    leases.stop();
    store.releaseDeadLeases = async () => 1;
    await clock.advance(60_000);
    expect([store.asked, store.released, clock.timers]).toEqual([[], [], 0]);
  });
});
