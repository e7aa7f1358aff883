import { describe, expect, it } from "vitest";
import { deltaFrame, eventFrame, positionFrame, noticeFrame } from "./event-frames.ts";

const ID = "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111";
const SOURCE = { sessionId: ID, spelling: ID.toUpperCase(), incarnation: "abc" };
const titled = (new_title: string) => ({ number: 7, event: { type: "title_changed", new_title } as const });

describe("frames of an event stream", () => {
  it("contain the event id, and the session id in its original spelling", () => {
    expect(eventFrame(SOURCE, titled("One"), new Set())).toEqual({
      kind: "event",
      id: "abc-7",
      event: { type: "title_changed", session_id: SOURCE.spelling, new_title: "One" },
    });
  });

  it("are omitted if the event's group is not included", () => {
    const event = {
      type: "state_changed",
      status: "idle",
      model: "m",
      app: "default",
      user_state: null,
    } as const;
    expect(eventFrame(SOURCE, { number: 1, event }, new Set(["tools", "messages"]))).toBeNull();
    expect(eventFrame(SOURCE, { number: 1, event }, new Set(["state"]))).not.toBeNull();
  });

  it("have no id for deltas, and only an id for positions", () => {
    expect(deltaFrame(SOURCE, { message_id: "m", offset: 3, text: "x" })).toEqual({
      kind: "event",
      id: null,
      event: { type: "message_delta", session_id: SOURCE.spelling, message_id: "m", offset: 3, text: "x" },
    });
    expect(positionFrame(SOURCE, 9)).toEqual({ kind: "heartbeat", id: "abc-9" });
    const notice = { code: "resync", level: "info", message: "Fetch." } as const;
    expect(noticeFrame(SOURCE, notice, 9)).toMatchObject({ id: "abc-9", event: { type: "system_notice" } });
    expect(noticeFrame(SOURCE, notice, null)).toMatchObject({ id: null });
  });
});
