import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { until } from "../../test/service.ts";
import { TextMending } from "./text-mending.ts";

const ID = "session";

let clock: ManualClock;
let reads: PromiseWithResolvers<boolean>[];
let isBroken: boolean;
let mending: TextMending;

beforeEach(() => {
  clock = new ManualClock();
  reads = [];
  isBroken = false;
  mending = new TextMending({
    clock,
    read: () => {
      const read = Promise.withResolvers<boolean>();
      reads.push(read);
      return read.promise;
    },
    isBroken: () => isBroken,
  });
});

describe("the mending of a text", () => {
  it("reads once where that is enough, and anew for whoever finds it broken later", async () => {
    mending.begin(ID);
    reads[0]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(1);
    mending.begin(ID);
    expect(reads).toHaveLength(2);
  });

  it("reads again after a read that began before it was asked for", async () => {
    mending.begin(ID);
    mending.begin(ID);
    mending.begin(ID);
    expect(reads).toHaveLength(1);
    reads[0]!.resolve(true);
    await until(() => reads.length === 2);
    reads[1]!.resolve(true);
    await clock.advance(10_000);
    expect(reads).toHaveLength(2);
  });

  it("asks four times a second for text that is not there yet, however much comes behind it", async () => {
    isBroken = true;
    mending.begin(ID);
    for (let n = 1; n <= 4; n += 1) {
      mending.begin(ID);
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

  it("asks again when the store fails, and when what it has is old by then", async () => {
    mending.begin(ID);
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

  it("gives up after five seconds, and begins anew with the next piece", async () => {
    isBroken = true;
    mending.begin(ID);
    for (let n = 0; n < 20; n += 1) {
      reads[n]!.resolve(true);
      await clock.advance(250);
    }
    await clock.advance(10_000);
    expect(reads).toHaveLength(20);
    expect(clock.timers).toBe(0);
    mending.begin(ID);
    expect(reads).toHaveLength(21);
  });

  it("is for each session by itself, and ends with the service", async () => {
    mending.begin(ID);
    mending.begin("other");
    expect(reads).toHaveLength(2);
    mending.stop();
    for (const read of reads) read.resolve(false);
    await clock.advance(10_000);
    mending.begin("third");
    expect(reads).toHaveLength(2);
  });
});
