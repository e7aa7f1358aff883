import { describe, expect, it } from "vitest";
import { loadUndisturbed } from "./load-undisturbed.ts";

describe("a load that others come between", () => {
  it("is repeated, and answers what there is then, nothing too", async () => {
    const answers = ["disturbed", "disturbed", "loaded"];
    expect(await loadUndisturbed(() => Promise.resolve(answers.shift()))).toBe("loaded");
    expect(await loadUndisturbed(() => Promise.resolve(null))).toBeNull();
  });

  it("is refused with 503 when that goes on and on", async () => {
    let loads = 0;
    const refused = loadUndisturbed(() => Promise.resolve(((loads += 1), "disturbed" as const)));
    await expect(refused).rejects.toMatchObject({ status: 503, code: "session_restless" });
    expect(loads).toBe(3);
  });
});
