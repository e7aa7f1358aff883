import { describe, expect, it } from "vitest";
import { LEASE_MS, providerOf, ranInAttempt, ranUnder } from "./turn.ts";

describe("the time that a turn ran under a lease", () => {
  const lease = { takenAt: 1_000, expiresAt: 1_000 + LEASE_MS };

  it("is what has passed since the lease was taken", () => {
    expect(ranUnder(lease, 1_000)).toBe(0);
    expect(ranUnder(lease, 4_500)).toBe(3_500);
  });

  it("ends with the lease, however late somebody finds that its owner has died", () => {
    expect(ranUnder(lease, 60 * 60 * 1000)).toBe(LEASE_MS);
    // It was renewed once.
    expect(ranUnder({ ...lease, expiresAt: 21_000 }, 60 * 60 * 1000)).toBe(20_000);
  });

  it("is never less than nothing, whatever was done to the clock", () => {
    expect(ranUnder(lease, 500)).toBe(0);
  });

  it("is nothing where no lease is left, and where nobody knows since when it was held", () => {
    expect(ranUnder(null, 5_000)).toBe(0);
    expect(ranUnder({ ...lease, takenAt: null }, 5_000)).toBe(0);
  });
});

describe("the time that a turn has run in the attempt under way", () => {
  const running = { state: "running", runnable: false, attemptAt: 1_000 } as const;

  it("is what has passed since it was started last", () => {
    expect(ranInAttempt(running, null, 4_500)).toBe(3_500);
    expect(ranInAttempt(running, null, 500)).toBe(0);
  });

  it("ends with its lease, however long nobody finds that its owner has died", () => {
    expect(ranInAttempt(running, { expiresAt: 11_000 }, 10_000)).toBe(9_000);
    expect(ranInAttempt(running, { expiresAt: 11_000 }, 60 * 60 * 1000)).toBe(10_000);
  });

  it("is nothing for a turn that nobody runs, and where nobody knows when it was started", () => {
    expect(ranInAttempt({ ...running, runnable: true }, null, 4_500)).toBe(0);
    expect(ranInAttempt({ ...running, state: "waiting" }, null, 4_500)).toBe(0);
    expect(ranInAttempt({ ...running, attemptAt: null }, null, 4_500)).toBe(0);
  });
});

it("the provider of a rig is what stands before its first slash", () => {
  expect(["demo/assistant", "a/b/c", "none"].map(providerOf)).toEqual(["demo", "a", "none"]);
});
