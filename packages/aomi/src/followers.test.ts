import type { Snapshot, UpdateEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { EventStream, NextEvent } from "./followers.ts";
import { View } from "./view.ts";

const SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ANSWER = "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11";
const AT = "2026-11-20T12:00:00.000Z";

function viewOf(): View {
  const common = { created_at: AT, turn: 1 } as const;
  const snapshot: Snapshot = {
    messages: [
      { ...common, sender: "user", content: "count", id: SESSION, status: "complete" },
      { ...common, sender: "agent", content: "", id: ANSWER, status: "streaming" },
    ],
    system_events: [],
    pending_actions: [],
    title: "Tea",
    is_processing: true,
    user_state: null,
    session_id: SESSION,
    app: "default",
    status: "processing",
    model: "demo/assistant",
    last_event_id: "life-3",
  };
  return new View(snapshot, []);
}
const delta = (offset: number, text: string, message_id = ANSWER): UpdateEvent => ({
  session_id: SESSION,
  type: "message_delta",
  message_id,
  offset,
  text,
});

describe("a stream", () => {
  it("sends the whole text ever more rarely as it grows", () => {
    const stream = new EventStream(viewOf(), 0);
    stream.begin();
    const [length, piece] = [40_000, 4];
    let [bytes, last] = [0, ""];
    for (let offset = 0; offset < length; offset += piece) {
      const text = stream.encode(delta(offset, "word"));
      bytes += text.length;
      if (text !== "") last = text;
      // The shown text lacks at most a thirty-second of the text, and never the first words.
      const shown = (JSON.parse(last.split("data: ")[1]!) as { revision: number }).revision;
      expect(shown).toBeGreaterThan((offset + piece) * 0.96 - piece);
    }
    expect(bytes).toBeLessThan(length * 40);
  });

  it("sends no page for text, and begins with one", () => {
    const stream = new EventStream(viewOf(), 0);
    expect(stream.begin()).toMatch(/^event: page\n/);
    expect(stream.encode(delta(0, "Hi"))).toMatch(/^event: message\ndata: .*"content":"Hi".*\n\n$/);
    expect(stream.encode(delta(0, "Hi"))).toBe("");
  });

  it.each([
    ["an event that cannot be applied", delta(0, "Hi", SESSION.replace("7", "8"))],
    ["removed messages", { session_id: SESSION, type: "messages_removed", from: SESSION } as const],
  ])("ends with resync after %s", (_what, event) => {
    const stream = new EventStream(viewOf(), 0);
    expect(stream.encode(event)).toBe("event: resync\ndata: {}\n\n");
    expect(stream.isOver).toBe(true);
    const next = new NextEvent(viewOf(), 10 ** 14);
    next.encode(event);
    expect(next.isOver).toBe(event.type !== "message_delta");
  });
});
