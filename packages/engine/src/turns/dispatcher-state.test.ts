import { describe, expect, it } from "vitest";
import { Backlog, nextDispatcherState, type DispatcherState, type DispatcherTrigger } from "./dispatcher.ts";

const after = (...triggers: readonly DispatcherTrigger[]): DispatcherState =>
  triggers.reduce<DispatcherState>(nextDispatcherState, "idle");

describe("dispatcher states", () => {
  it("claims work, and backs off after a failure until the retry is due", () => {
    expect(after("work")).toBe("claiming");
    expect(after("work", "work", "claim_ended")).toBe("idle");
    expect(after("work", "claim_failed", "work")).toBe("backing_off");
    expect(after("work", "claim_failed", "retry_due")).toBe("claiming");
  });

  it.each([
    { before: [], claims: false },
    { before: ["work"], claims: true },
    { before: ["work", "claim_failed"], claims: false },
  ] as const)("starts no claim after a stop (%j)", ({ before, claims }) => {
    expect(after(...before, "stop", "work", "stop")).toBe(claims ? "stopping" : "stopped");
    if (claims) expect(after(...before, "stop", "claim_failed", "work")).toBe("stopped");
  });

  it("throws on an impossible transition", () => {
    expect(() => after("claim_ended")).toThrow('A dispatcher that is idle cannot handle "claim_ended"');
    expect(() => after("work", "claim_failed", "stop", "retry_due")).toThrow("stopped");
  });
});

describe("Backlog", () => {
  it("keeps slots free for turns that a claim leaves behind and for earlier chats", () => {
    const backlog = new Backlog();
    expect(backlog.hasSlotForChat(100)).toBe(false);
    backlog.unclaimed = 80;
    backlog.beginClaim(64, 80, false);
    backlog.chatsWithoutSlot = 1;
    expect([backlog.hasSlotForChat(17), backlog.hasSlotForChat(18)]).toEqual([false, true]);
    backlog.forget();
    expect(backlog.hasSlotForChat(100)).toBe(false);
  });
});
