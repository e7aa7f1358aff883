import { describe, expect, it } from "vitest";
import { cleared, EMPTY_LOG, eventLines, appendFrames, MAX_EVENTS } from "./event-log.ts";

const frame = (id: string | null, type: string) => ({ id, data: JSON.stringify({ type, session_id: "s" }) });

describe("the event log", () => {
  it("shows each event under its own id, or without one", () => {
    const log = appendFrames(EMPTY_LOG, [frame("a-1", "message_created"), frame(null, "message_delta")], 5);
    expect(log.events).toMatchObject([
      { number: 1, id: "a-1", type: "message_created", group: "messages" },
      { number: 2, id: null, type: "message_delta", group: "messages" },
    ]);
  });

  it("shows the time in an event, and the time of arrival of live events only", () => {
    const created_at = "2026-01-02T03:04:05.678Z";
    const data = (event: object) => JSON.stringify({ session_id: "s", ...event });
    const frames = [
      { id: "a-1", data: data({ type: "message_created", message: { created_at } }) },
      { id: "a-2", data: data({ type: "system_event", item: { created_at } }) },
      { id: "a-3", data: data({ type: "message_completed", message: { created_at } }) },
      frame("a-4", "title_changed"),
      frame(null, "message_delta"),
    ];
    const times = appendFrames(EMPTY_LOG, frames, 5).events.map(({ at }) => at);
    expect(times).toEqual([Date.parse(created_at), Date.parse(created_at), null, null, 5]);
  });

  it("continues from the last id, even if the id came without an event", () => {
    const first = appendFrames(EMPTY_LOG, [frame("a-1", "title_changed")], 0);
    const second = appendFrames(first, [{ id: "a-7", data: null }, frame(null, "message_delta")], 0);
    expect(second.lastId).toBe("a-7");
    expect(second.events).toHaveLength(2);
    expect(appendFrames(first, [{ id: "", data: null }], 0).lastId).toBe("a-1");
  });

  it("keeps the last thousand events and counts all", () => {
    const frames = Array.from({ length: MAX_EVENTS + 5 }, (_, at) => frame(`a-${at}`, "state_changed"));
    const log = appendFrames(EMPTY_LOG, frames, 0);
    expect([log.events.length, log.received, log.events[0]?.id]).toEqual([1_000, 1_005, "a-5"]);
    const after = appendFrames(cleared(log), [frame("b-1", "tool_update")], 0);
    expect(after.events).toMatchObject([{ number: 1_006, id: "b-1", group: "tools" }]);
  });

  it("shows unknown events", () => {
    const log = appendFrames(
      EMPTY_LOG,
      [frame("1", "toString"), { id: "2", data: "{" }, { id: "3", data: "null" }, { id: "4", data: "7" }],
      0,
    );
    expect(log.events.map(({ type, group }) => [type, group])).toEqual([
      ["toString", "other"],
      ["not JSON", "other"],
      ["without a type", "other"],
      ["without a type", "other"],
    ]);
    expect(log.events[1]?.event).toBe("{");
  });

  it("copies events as the service sends them", () => {
    const { events } = appendFrames(
      EMPTY_LOG,
      [frame("a-1", "title_changed"), frame(null, "message_delta")],
      0,
    );
    expect(eventLines(events)).toBe(
      'id: a-1\ndata: {"type":"title_changed","session_id":"s"}\n\ndata: {"type":"message_delta","session_id":"s"}\n\n',
    );
  });
});
