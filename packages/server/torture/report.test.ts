import { describe, expect, it } from "vitest";
import { describeResult, type TortureResult } from "./report.ts";

const CLEAN: TortureResult = {
  seed: "7",
  faults: { name: "kills", count: 31 },
  seconds: 121.4,
  sessions: 12,
  messages: { sent: 210, acknowledged: 200, refused: 10 },
  interrupts: 9,
  streams: { resumed: 40, refetched: 1, compared: 300 },
  violations: [],
  errors: [],
};

describe("the report", () => {
  it("has a row for each figure that the run is judged by", () => {
    const text = describeResult(CLEAN);
    for (const row of [
      "acknowledged",
      "lost",
      "doubled",
      "disordered",
      "stuck",
      "unanswered",
      "fold mismatches",
    ]) {
      expect(text).toMatch(new RegExp(`^\\| ${row} +\\| +\\d+ \\|$`, "m"));
    }
    expect(text).toMatch(/share acknowledged +\| 100\.00 %/);
    expect(text).toMatch(/kills +\| +31/);
    expect(text).toMatch(/seed +\| +7/);
  });

  it("tells each violation in words, up to a limit", () => {
    const violations = Array.from({ length: 25 }, (_, index) => ({
      kind: "lost" as const,
      sessionId: "s",
      detail: `message ${index}`,
    }));
    const text = describeResult({ ...CLEAN, violations });
    expect(text).toMatch(/lost +\| +25/);
    expect(text).toContain("lost in s: message 0");
    expect(text).toContain("and 5 more");
  });
});
