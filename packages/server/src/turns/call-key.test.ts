import { describe, expect, it } from "vitest";
import { callKey } from "./call-key.ts";
import { startedTurn } from "./testing/started-turn.ts";

describe("callKey", () => {
  it("stays the same when the call runs again", () => {
    const again = startedTurn({ attempt: 2, epoch: 7, sessionKey: 9 });
    expect(callKey(again, "call_0")).toBe(callKey(startedTurn(), "call_0"));
  });

  it.each([
    ["another session", { sessionId: "00000000-0000-4000-8000-000000000002" }, "call_0"],
    ["another incarnation of the session", { life: "other" }, "call_0"],
    ["another turn", { turn: 2 }, "call_0"],
    ["another call", {}, "call_1"],
  ])("differs for %s", (_case, turn, id) => {
    expect(callKey(startedTurn(turn), id)).not.toBe(callKey(startedTurn(), "call_0"));
  });

  it("is a valid header value for any model's call id", () => {
    expect(callKey(startedTurn(), `\u2603 \n${"x".repeat(10_000)}`)).toMatch(/^[0-9a-f]{64}$/);
  });
});
