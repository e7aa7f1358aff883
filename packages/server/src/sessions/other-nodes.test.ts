import { describe, expect, it } from "vitest";
import type { BusListener, SessionNote } from "../core/ports/driven/bus.ts";
import { listenToOtherNodes } from "./other-nodes.ts";

function listening() {
  const done: string[] = [];
  let listener: BusListener | null = null;
  listenToOtherNodes({
    bus: {
      listen: (one) => {
        listener = one;
        return () => undefined;
      },
    },
    registry: {
      hear: (id, note) => void done.push(`hear ${id} ${note.kind}`),
      end: (id, life) => void done.push(`end ${id} ${life}`),
    },
    running: { abort: (id, life, below) => void done.push(`abort ${id} ${life} below ${below}`) },
    dispatcher: {
      abandon: (id, life) => void done.push(`abandon ${id} ${life}`),
      claimAnnounced: () => void done.push("look"),
    },
  });
  return {
    done,
    hear: (...heard: Parameters<BusListener["onNote"]>) => listener?.onNote(...heard),
    work: () => listener?.onWork?.(),
  };
}

const EVENTS: SessionNote = { kind: "events", life: "a", epoch: 3, events: [] };

describe("what others say", () => {
  it("stops turns of older epochs before their session follows, so that nothing of them is said in what comes next", () => {
    const { done, hear } = listening();
    hear("x", EVENTS, "elsewhere");
    hear("x", { kind: "moved", life: "a", epoch: 4, head: 9 }, "elsewhere");
    expect(done).toEqual(["abort x a below 3", "hear x events", "abort x a below 4", "hear x moved"]);
  });

  it("ends a session that was deleted, with what runs in it", () => {
    const { done, hear } = listening();
    hear("x", { kind: "deleted", life: "a" }, "elsewhere");
    expect(done).toEqual(["end x a", "abandon x a"]);
  });

  it("of text is not for the session, and what is said here is known here", () => {
    const { done, hear } = listening();
    hear("x", { kind: "delta", life: "a", epoch: 1, messageId: "m", offset: 0, text: "t" }, "elsewhere");
    hear("x", EVENTS, "here");
    expect(done).toEqual([]);
  });

  it("of work that waits rings the doorbell", () => {
    const { done, work } = listening();
    work();
    expect(done).toEqual(["look"]);
  });
});
