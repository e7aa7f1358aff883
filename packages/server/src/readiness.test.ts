import { describe, expect, it } from "vitest";
import { Unavailable } from "./core/errors.ts";
import { createReadiness } from "./readiness.ts";

describe("readiness", () => {
  it("holds while the store takes writes", async () => {
    let fails = false;
    const probe = () =>
      fails ? Promise.reject(new Unavailable(507, "insufficient_storage", "Full.", 30)) : Promise.resolve();
    const readiness = createReadiness({ probe }, true);
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
    const readiness = createReadiness({ probe: () => Promise.resolve(void (probes += 1)) }, true);
    expect(readiness.stopping).toBe(false);
    readiness.stop();
    expect(readiness.stopping).toBe(true);
    expect(await readiness.problems()).toEqual(["The service is being stopped."]);
    expect(probes).toBe(0);
  });

  it("refuses work from then on where nobody else would go on with it", () => {
    const [alone, among] = [true, false].map((isAlone) =>
      createReadiness({ probe: () => Promise.resolve() }, isAlone),
    );
    const refusals = () => [alone!.refusesWork, among!.refusesWork];
    expect(refusals()).toEqual([false, false]);
    alone!.stop();
    among!.stop();
    expect(refusals()).toEqual([true, false]);
  });
});
