import { describe, expect, it } from "vitest";
import { formatCount, formatMs, formatRounds, formatTable } from "./table.ts";

describe("the table", () => {
  it("is Markdown and marks missed targets", () => {
    const row = { name: "state", colloquy: "9/s", control: "10/s", ratio: "0.90", target: "0.85", met: true };
    expect(
      formatTable([row, { ...row, met: false }])
        .split("\n")
        .slice(2),
    ).toEqual([
      "| state | 9/s | 10/s | 0.90 | 0.85 | yes |",
      "| state | 9/s | 10/s | 0.90 | 0.85 | **no** |",
    ]);
  });

  it("shows the median of rounds with their spread", () => {
    expect(formatRounds([0.9, 0.8, 1])).toBe("0.90 (0.80 to 1.00)");
    expect(formatRounds([0.9])).toBe("0.90");
  });

  it("formats numbers with their units", () => {
    expect([formatCount(12_345.6, "/s"), formatMs(1.234), formatMs(12.34)]).toEqual([
      "12,346/s",
      "1.23 ms",
      "12.3 ms",
    ]);
  });
});
