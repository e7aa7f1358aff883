import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSystemClock } from "./clock.ts";

describe("the system clock", () => {
  const clock = createSystemClock();
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("returns the time of the machine", () => {
    vi.setSystemTime(1234);
    expect(clock.now()).toBe(1234);
    const before = clock.monotonic();
    vi.advanceTimersByTime(50);
    expect(clock.monotonic() - before).toBe(50);
  });

  it("calls back once after a delay, unless stopped", () => {
    const called = vi.fn<() => void>();
    clock.after(10, called);
    clock.after(10, called).stop();
    vi.advanceTimersByTime(9);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(100);
    expect(called).toHaveBeenCalledOnce();
  });

  it("calls back repeatedly until stopped", () => {
    const called = vi.fn<() => void>();
    const timer = clock.every(10, called);
    vi.advanceTimersByTime(35);
    timer.stop();
    vi.advanceTimersByTime(35);
    expect(called).toHaveBeenCalledTimes(3);
  });

  it("sleeps, and rejects with the signal's reason", async () => {
    const rested = clock.sleep(10);
    const controller = new AbortController();
    const woken = clock.sleep(10, controller.signal);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(woken).rejects.toBe(reason);
    await expect(clock.sleep(10, controller.signal)).rejects.toBe(reason);
    vi.advanceTimersByTime(10);
    await expect(rested).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not keep the process alive", () => {
    vi.useRealTimers();
    const before = process.getActiveResourcesInfo();
    const timers = [clock.after(60_000, () => undefined), clock.every(60_000, () => undefined)];
    expect(process.getActiveResourcesInfo()).toEqual(before);
    for (const timer of timers) timer.stop();
  });
});
