import { describe, expect, it } from "vitest";
import { countMessages } from "./message-counts.ts";
import { describeResult, type TortureResult } from "./report.ts";

const CLEAN: TortureResult = {
  seed: "7",
  faults: { name: "kills", count: 31 },
  seconds: 121.4,
  sessions: 12,
  messages: {
    ...countMessages(),
    sent: 210,
    acknowledged: 200,
    withKey: { asked: 120, acknowledged: 114 },
    firstTries: { asked: 200, acknowledged: 150 },
    firstTriesAtWhole: { asked: 150, acknowledged: 147 },
    refused: 10,
    sentOnce: 80,
    unchanged: 3,
    inDoubt: 2,
  },
  done: { interrupts: 9, edits: 8, forks: 7, claims: 6, decisions: 4, expiries: 3, files: 5 },
  streams: { resumed: 40, refetched: 1, compared: 300 },
  violations: [],
  errors: [],
};

describe("the report", () => {
  it("has a row for each figure that decides the run", () => {
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
    expect(text).toMatch(/within 10 s +\| +95\.00 %/);
    expect(text).toMatch(/at the first try, of servers that are down too +\| +75\.00 %/);
    expect(text).toMatch(/nothing was done to the server +\| +98\.00 %/);
    expect(text).toMatch(/without a key +\| +80 .*\n.*not to be stored +\| +3 .*\n.*in doubt +\| +2 /);
    expect(text).toMatch(/kills +\| +31/);
    expect(text).not.toMatch(/without progress/);
    expect(text).toMatch(
      /edits +\| +8 .*\n.*copies +\| +7 .*\n.*claims +\| +6 .*\n.*decided requests to approvers +\| +4 .*\n.*expired .* +\| +3 .*\n.*files downloaded +\| +5 /,
    );
    expect(text).toMatch(/seed +\| +7/);
  });

  it("shows the longest times without progress if they were measured", () => {
    const text = describeResult({ ...CLEAN, stalls: { longestMs: 11_240, longestAfterDeathMs: 10_900 } });
    expect(text).toMatch(/longest without progress +\| +11\.2 s/);
    expect(text).toMatch(/longest after the owner's death +\| +10\.9 s/);
  });

  it("lists violations in words, up to a limit", () => {
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
