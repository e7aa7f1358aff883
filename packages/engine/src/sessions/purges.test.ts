import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { Purges } from "./purges.ts";

let clock: ManualClock;
/** Ends the purges that have begun, in their order. */
let ends: ((isDone: boolean) => void)[];
let purges: Purges;
beforeEach(() => {
  clock = new ManualClock();
  ends = [];
  purges = new Purges(() => new Promise((resolve) => ends.push(resolve)), clock);
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a purge", () => {
  it("covers all erasures before it starts, and none after", async () => {
    const [one, two] = [purges.run(), purges.run()];
    await settled();
    expect(ends).toHaveLength(1);
    const three = purges.run();
    ends[0]!(true);
    await Promise.all([one, two]);
    await settled();
    expect(ends).toHaveLength(2);
    ends[1]!(true);
    await three;
  });

  it("starts after a pause of ten times the previous duration", async () => {
    const one = purges.run();
    await settled();
    await clock.advance(700);
    ends[0]!(true);
    await one;
    const two = purges.run();
    await clock.advance(6999);
    expect(ends).toHaveLength(1);
    await clock.advance(1);
    await settled();
    expect(ends).toHaveLength(2);
    ends[1]!(true);
    await two;
  });

  it("is retried for five seconds while another process reads, then fails only its own erasures", async () => {
    const failing = purges.run();
    failing.catch(() => undefined);
    for (let tries = 0; tries < 20; tries += 1) {
      await settled();
      ends.shift()!(false);
      await settled();
      await clock.advance(250);
    }
    await expect(failing).rejects.toMatchObject({ code: "not_purged" });
    const next = purges.run();
    await clock.advance(50_000);
    await settled();
    ends.shift()!(true);
    await next;
  });
});
