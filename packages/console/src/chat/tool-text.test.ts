import { expect, it } from "vitest";
import { DENIED, EXPIRED } from "../../../server/src/core/commands/asking.ts";
import { lookOf, progressText } from "./tool-text.ts";

it.each<[unknown, string]>([
  ["reading page 3", "reading page 3"],
  [{ message: "reading", progress: 3, total: 10 }, "reading · 3 of 10"],
  [{ progress: 3 }, "3"],
  [{ message: "reading" }, "reading"],
  [{ step: 1 }, '{"step":1}'],
  [[1, 2], "[1,2]"],
  [5, "5"],
  [{ message: 5, progress: "x" }, '{"message":5,"progress":"x"}'],
])("%j is shown as %s", (progress, text) => {
  expect(progressText(progress)).toBe(text);
});

it.each([
  ["failed", DENIED, "denied"],
  ["failed", EXPIRED, "unanswered"],
  ["failed", `${DENIED} And more`, "failed"],
  ["complete", DENIED, "complete"],
] as const)("a call that is %s with %j looks %s", (status, result, look) => {
  expect(lookOf(status, null, result)).toBe(look);
  expect(lookOf(status, "approval", result)).toBe("asking");
  expect(lookOf(status, "client_tool", result)).toBe("away");
});
