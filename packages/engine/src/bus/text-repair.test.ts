import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { until } from "../../../server/test/service.ts";
import { TextRepair } from "./streaming-texts.ts";

const ID = "session";

let clock: ManualClock;
let reads: PromiseWithResolvers<boolean>[];
let isBroken: boolean;
let repair: TextRepair;

beforeEach(() => {
  clock = new ManualClock();
  reads = [];
  isBroken = false;
  repair = new TextRepair({
    clock,
    read: () => {
      const read = Promise.withResolvers<boolean>();
      reads.push(read);
      return read.promise;
    },
    isBroken: () => isBroken,
  });
});

describe("TextRepair", () => {
  it("reads once if that suffices, and again for a later gap", async () => {
    repair.begin(ID);
    reads[0]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(1);
    repair.begin(ID);
    expect(reads).toHaveLength(2);
  });

  it("reads again if requested during a read", async () => {
    repair.begin(ID);
    repair.begin(ID);
    repair.begin(ID);
    expect(reads).toHaveLength(1);
    reads[0]!.resolve(true);
    await until(() => reads.length === 2);
    reads[1]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(2);
  });

  it("retries four times a second while text is missing, however many deltas arrive", async () => {
    isBroken = true;
    repair.begin(ID);
    for (let n = 1; n <= 4; n += 1) {
      repair.begin(ID);
      reads[n - 1]!.resolve(true);
      await clock.advance(249);
      expect(reads).toHaveLength(n);
      await clock.advance(1);
      expect(reads).toHaveLength(n + 1);
    }
    isBroken = false;
    reads[4]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(5);
  });

  it("retries after a store failure and after a stale read", async () => {
    repair.begin(ID);
    reads[0]!.reject(new Error("away"));
    await clock.advance(250);
    expect(reads).toHaveLength(2);
    reads[1]!.resolve(false);
    await clock.advance(250);
    expect(reads).toHaveLength(3);
    reads[2]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(3);
  });

  it("gives up after five seconds, and starts over with the next delta", async () => {
    isBroken = true;
    repair.begin(ID);
    for (let n = 0; n < 20; n += 1) {
      reads[n]!.resolve(true);
      await clock.advance(250);
    }
    await clock.advance(10_000);
    expect(reads).toHaveLength(20);
    expect(clock.timers).toBe(0);
    repair.begin(ID);
    expect(reads).toHaveLength(21);
  });

  it("repairs each session separately, and stops with the service", async () => {
    repair.begin(ID);
    repair.begin("other");
    expect(reads).toHaveLength(2);
    repair.stop();
    for (const read of reads) read.resolve(false);
    await clock.advance(10_000);
    repair.begin("third");
    expect(reads).toHaveLength(2);
  });
});
