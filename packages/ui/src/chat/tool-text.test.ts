import { expect, it } from "vitest";
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

const decided = (status: "approved" | "denied" | "expired", kind: "approval" | "client_tool" = "approval") =>
  ({ kind, status, at: "", by: null }) as const;

it.each([
  ["failed", decided("denied"), "denied"],
  ["failed", decided("denied", "client_tool"), "denied"],
  ["failed", decided("expired"), "unanswered"],
  ["failed", decided("expired", "client_tool"), "failed"],
  ["failed", decided("approved"), "failed"],
  ["failed", undefined, "failed"],
  ["complete", decided("approved"), "complete"],
] as const)("a call that is %s with the decision %j looks %s", (status, decision, look) => {
  const one = { status, ...(decision !== undefined && { decision }) };
  expect(appearanceOf(one, null)).toBe(look);
  const asked = { id: "a", tool: "t", call_id: "c", created_at: "", expires_at: "" };
  const request = { tool: "t", input: {} };
  expect(appearanceOf(one, { ...asked, kind: "approval", request })).toBe("asking");
  const call = { ...asked, kind: "client_tool", request } as const;
  expect(appearanceOf(one, { ...call, claim_expires_at: null })).toBe("away");
  expect(appearanceOf(one, { ...call, claim_expires_at: "" })).toBe("running");
});
