import { describe, expect, it } from "vitest";
import { LEASE_MS, providerOf, ranInAttempt, ranUnder } from "./turn.ts";

describe("the running time of a turn under a lease", () => {
  const lease = { takenAt: 1_000, expiresAt: 1_000 + LEASE_MS };

  it("is the time since the lease was taken", () => {
    expect(ranUnder(lease, 1_000)).toBe(0);
    expect(ranUnder(lease, 4_500)).toBe(3_500);
  });

  it("ends with the lease, even if the owner's death is noticed later", () => {
    expect(ranUnder(lease, 60 * 60 * 1000)).toBe(LEASE_MS);
    // The lease was renewed once.
    expect(ranUnder({ ...lease, expiresAt: 21_000 }, 60 * 60 * 1000)).toBe(20_000);
  });

  it("is never negative, even if the clock was set back", () => {
    expect(ranUnder(lease, 500)).toBe(0);
  });

  it("is 0 without a lease, and for a lease without a recorded start", () => {
    expect(ranUnder(null, 5_000)).toBe(0);
    expect(ranUnder({ ...lease, takenAt: null }, 5_000)).toBe(0);
  });
});

describe("the running time of the current attempt", () => {
  const running = { state: "running", runnable: false, attemptAt: 1_000 } as const;

  it("is the time since the last start", () => {
    expect(ranInAttempt(running, null, 4_500)).toBe(3_500);
    expect(ranInAttempt(running, null, 500)).toBe(0);
  });

  it("ends with its lease, even if the owner's death is noticed later", () => {
    expect(ranInAttempt(running, { expiresAt: 11_000 }, 10_000)).toBe(9_000);
    expect(ranInAttempt(running, { expiresAt: 11_000 }, 60 * 60 * 1000)).toBe(10_000);
  });

  it("is 0 for a turn that is not running, and without a recorded start", () => {
    expect(ranInAttempt({ ...running, runnable: true }, null, 4_500)).toBe(0);
    expect(ranInAttempt({ ...running, state: "waiting" }, null, 4_500)).toBe(0);
    expect(ranInAttempt({ ...running, attemptAt: null }, null, 4_500)).toBe(0);
  });
});

it("takes the provider of a model from the part before its first slash", () => {
  expect(["demo/assistant", "a/b/c", "none"].map(providerOf)).toEqual(["demo", "a", "none"]);
});
