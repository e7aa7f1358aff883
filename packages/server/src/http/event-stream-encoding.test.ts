import { describe, expect, it } from "vitest";
import { encodeFrame } from "./event-stream.ts";

const titled = (new_title: string, id: string | null) =>
  ({ kind: "event", id, event: { type: "title_changed", session_id: "S", new_title } }) as const;

describe("server-sent events", () => {
  it("contain an id, one line of JSON with the session id, and a blank line", () => {
    expect(encodeFrame(titled("One", "abc-7")).toString()).toBe(
      'id: abc-7\ndata: {"type":"title_changed","session_id":"S","new_title":"One"}\n\n',
    );
    expect(encodeFrame(titled("One", null)).toString()).toMatch(/^data: [^\n]+\n\n$/);
  });

  it("encode line breaks in the data as JSON escapes", () => {
    const lines = encodeFrame(titled("a\nb\r\nc\u2028d", "abc-7"))
      .toString()
      .split(/\r\n|\r|\n/);
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines[1]!.slice("data: ".length))).toMatchObject({ new_title: "a\nb\r\nc\u2028d" });
  });

  it("encode heartbeats with and without an id, and the reconnect delay", () => {
    expect(encodeFrame({ kind: "heartbeat", id: null }).toString()).toBe(": heartbeat\n\n");
    expect(encodeFrame({ kind: "heartbeat", id: "abc-9" }).toString()).toBe(": heartbeat\nid: abc-9\n\n");
    expect(encodeFrame({ kind: "retry" }).toString()).toBe("retry: 2000\n\n");
  });

  it("are encoded once per frame", () => {
    const frame = titled("One", "abc-7");
    expect(encodeFrame(frame)).toBe(encodeFrame(frame));
  });
});
