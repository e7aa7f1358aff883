import { describe, expect, it } from "vitest";
import { Unavailable } from "./core/errors.ts";
import { createReadiness } from "./readiness.ts";

describe("readiness", () => {
  it("holds while the store takes writes", async () => {
    let fails = false;
    const readiness = createReadiness({
      probe: () =>
        fails ? Promise.reject(new Unavailable(507, "insufficient_storage", "Full.", 30)) : Promise.resolve(),
    });
    expect(await readiness.problems()).toEqual([]);
    fails = true;
    expect(await readiness.problems()).toEqual([
      "The store takes no writes. Look at the disk and at the log.",
    ]);
    fails = false;
    expect(await readiness.problems()).toEqual([]);
  });

  it("ends when the service is told to stop, and asks the store no more", async () => {
    let probes = 0;
    const readiness = createReadiness({ probe: () => Promise.resolve(void (probes += 1)) });
    expect(readiness.stopping).toBe(false);
    readiness.stop();
    expect(readiness.stopping).toBe(true);
    expect(await readiness.problems()).toEqual(["The service is being stopped."]);
    expect(probes).toBe(0);
  });
});
