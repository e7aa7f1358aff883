import { expect, it } from "vitest";
import { runAnswers } from "./answers-run.ts";

it("ends every turn and keeps every conversation going, whatever a provider answers", async () => {
  const { counts, failures } = await runAnswers({ seed: "tests", answers: 300, only: null });
  expect(failures).toEqual([]);
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(300);
  // Both ends occur, so the answers are neither all broken nor all harmless.
  expect([...counts.keys()].toSorted()).toEqual(["complete", "failed"]);
});
