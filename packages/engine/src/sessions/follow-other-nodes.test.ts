import { describe, expect, it } from "vitest";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { HubListener } from "../core/ports/driven/event-hub.ts";
import { followOtherNodes } from "./replica-sync.ts";

function listening() {
  const done: string[] = [];
  let listener: HubListener | null = null;
  followOtherNodes({
    hub: {
      listen: (one) => {
        listener = one;
        return () => undefined;
      },
    },
    registry: {
      applyRemote: (id, notification) => void done.push(`apply ${id} ${notification.kind}`),
    },
    cache: {
      end: (id, incarnation) => void done.push(`end ${id} ${incarnation}`),
      peek: () => ({ incarnation: "a" }),
    },
    running: {
      abort: (id, incarnation, below) => void done.push(`abort ${id} ${incarnation} below ${below}`),
    },
    dispatcher: {
      abandon: (id, incarnation) => void done.push(`abandon ${id} ${incarnation}`),
      claimAnnounced: () => void done.push("look"),
    },
  });
  return {
    done,
    notify: (...args: Parameters<HubListener["onNotification"]>) => listener?.onNotification(...args),
    incarnations: () => listener?.incarnationsOf?.("x"),
    work: () => listener?.onWork?.(),
  };
}

const EVENTS: SessionNotification = { kind: "events", incarnation: "a", epoch: 3, events: [] };

describe("followOtherNodes", () => {
  it("stops turns of older epochs before it applies the change", () => {
    const { done, notify } = listening();
    notify("x", EVENTS, "elsewhere");
    notify("x", { kind: "moved", incarnation: "a", epoch: 4, head: 9 }, "elsewhere");
    expect(done).toEqual(["abort x a below 3", "apply x events", "abort x a below 4", "apply x moved"]);
  });

  it("ends a deleted session and its turn", () => {
    const { done, notify } = listening();
    notify("x", { kind: "deleted", incarnation: "a" }, "elsewhere");
    expect(done).toEqual(["end x a", "abandon x a"]);
  });

  it("ignores deltas and its own notifications", () => {
    const { done, notify } = listening();
    notify(
      "x",
      { kind: "delta", incarnation: "a", epoch: 1, messageId: "m", offset: 0, text: "t" },
      "elsewhere",
    );
    notify("x", EVENTS, "here");
    expect(done).toEqual([]);
  });

  it("claims announced work", () => {
    const { done, work } = listening();
    work();
    expect(done).toEqual(["look"]);
  });

  it("reports the incarnations in memory to the hub", () => {
    expect(listening().incarnations()).toEqual(["a"]);
  });
});
