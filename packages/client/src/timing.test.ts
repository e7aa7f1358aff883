import { afterEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { backoff, pause, REAL_TIMING } from "./timing.ts";

const timingOf = (clock: ManualClock, random = 0.5) => ({
  after: (ms: number, callback: () => void) => clock.after(ms, callback),
  random: () => random,
  onWake: () => () => undefined,
});

describe("pause", () => {
  it("lasts as long as requested", async () => {
    const clock = new ManualClock();
    const done = vi.fn<() => void>();
    void pause(timingOf(clock), 100, new AbortController().signal).then(done);
    await clock.advance(99);
    expect(done).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(done).toHaveBeenCalledOnce();
  });

  it("ends when woken, and leaves no timer", async () => {
    const clock = new ManualClock();
    const resting = pause(timingOf(clock), 100, new AbortController().signal);
    resting.wake();
    await resting;
    expect(clock.timers).toBe(0);
  });

  it("throws the signal's reason, and leaves no timer", async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const resting = pause(timingOf(clock), 100, abort.signal);
    abort.abort(new Error("Enough"));
    await expect(resting).rejects.toThrow("Enough");
    expect(clock.timers).toBe(0);
    await expect(pause(timingOf(clock), 100, abort.signal)).rejects.toThrow("Enough");
    expect(clock.timers).toBe(0);
  });
});

it("backoff is random below a ceiling that doubles with each failure, up to a maximum", () => {
  const clock = new ManualClock();
  const ceilings = [1, 2, 3, 4, 5, 900].map((failures) => backoff(timingOf(clock, 1), failures, 500, 5_000));
  expect(ceilings).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  expect(backoff(timingOf(clock, 0), 3, 500, 5_000)).toBe(0);
});

describe("onWake", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it("fires when the network is back and when the page is shown again, not when it is hidden", () => {
    const [page, document] = [
      new EventTarget(),
      Object.assign(new EventTarget(), { visibilityState: "visible" }),
    ];
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
    vi.stubGlobal("document", document);
    const onWake = vi.fn<() => void>();
    const stop = REAL_TIMING.onWake(onWake);
    page.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(2);
    document.visibilityState = "hidden";
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(2);
    stop();
    document.visibilityState = "visible";
    page.dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange"));
    expect(onWake).toHaveBeenCalledTimes(2);
  });

  it("does nothing in runtimes without pages", () => {
    expect(() => REAL_TIMING.onWake(() => undefined)()).not.toThrow();
  });
});
