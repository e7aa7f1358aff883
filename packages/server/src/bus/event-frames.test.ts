import { describe, expect, it } from "vitest";
import { deltaFrame, eventFrame, positionFrame, noticeFrame } from "./event-frames.ts";

const ID = "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111";
const SOURCE = { sessionId: ID, spelling: ID.toUpperCase(), incarnation: "abc" };
const titled = (new_title: string) => ({ number: 7, event: { type: "title_changed", new_title } as const });

describe("event text", () => {
  it("consists of an id, one line of JSON with the session id, and a blank line", () => {
    expect(eventFrame(SOURCE, titled("One"), new Set())?.toString()).toBe(
      `id: abc-7\ndata: {"type":"title_changed","session_id":"${SOURCE.spelling}","new_title":"One"}\n\n`,
    );
  });

  it("stays on one line whatever the event contains", () => {
    const lines = eventFrame(SOURCE, titled("a\nb\r\nc\u2028d"), new Set())
      ?.toString()
      .split(/\r\n|\r|\n/);
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines![1]!.slice("data: ".length))).toMatchObject({ new_title: "a\nb\r\nc\u2028d" });
  });

  it("is null if the event's group is not included", () => {
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

  it("has no id for a delta, and only an id for a position", () => {
    expect(deltaFrame(SOURCE, { message_id: "m", offset: 3, text: "x" }).toString()).toBe(
      `data: {"type":"message_delta","session_id":"${SOURCE.spelling}","message_id":"m","offset":3,"text":"x"}\n\n`,
    );
    expect(positionFrame(SOURCE, 9).toString()).toBe(": heartbeat\nid: abc-9\n\n");
    const notice = { code: "resync", level: "info", message: "Fetch." } as const;
    expect(noticeFrame(SOURCE, notice, 9).toString()).toMatch(/^id: abc-9\ndata: \{"type":"system_notice"/);
    expect(noticeFrame(SOURCE, notice, null).toString()).toMatch(/^data: /);
  });
});
