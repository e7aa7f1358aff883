import { expect, it } from "vitest";
import { DENIED, EXPIRED } from "../../../server/src/core/commands/asking.ts";
import { appearanceOf, progressText } from "./tool-text.ts";

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
  expect(appearanceOf(status, null, result)).toBe(look);
  const asked = { id: "a", tool: "t", call_id: "c", created_at: "", expires_at: "" };
  const request = { tool: "t", input: {} };
  expect(appearanceOf(status, { ...asked, kind: "approval", request }, result)).toBe("asking");
  const call = { ...asked, kind: "client_tool", request } as const;
  expect(appearanceOf(status, { ...call, claim_expires_at: null }, result)).toBe("away");
  expect(appearanceOf(status, { ...call, claim_expires_at: "" }, result)).toBe("running");
});
