import type { Message, Snapshot, UpdateEvent } from "@colloquy/protocol";
import { describe, expect, it, vi } from "vitest";
import { pageAfter } from "./events.ts";
import { EventStream, NextEvent } from "./followers.ts";
import { END, sequenceOf } from "./positions.ts";
import { SESSION, viewOf as processing } from "./testing/view-of.ts";

const ANSWER = "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11";
const AT = "2026-11-20T12:00:00.000Z";

const message = (turn: number, more: Partial<Message> = {}): Message => ({
  created_at: AT,
  turn,
  sender: "user",
  content: "count",
  id: `${turn}`,
  status: "complete",
  ...more,
});
const answer = (turn: number, more: Partial<Message> = {}): Message =>
  message(turn, { sender: "agent", content: "", id: ANSWER, status: "streaming", ...more });

const viewOf = (messages = [message(1), answer(1)], more: Partial<Snapshot> = {}) =>
  processing(messages, { last_event_id: "life-3", ...more });
const delta = (offset: number, text: string, message_id = ANSWER): UpdateEvent => ({
  session_id: SESSION,
  type: "message_delta",
  message_id,
  offset,
  text,
});

const created = (one: Message): UpdateEvent => ({
  session_id: SESSION,
  type: "message_created",
  message: one,
});
const STATE = {
  session_id: SESSION,
  type: "state_changed",
  status: "processing",
  model: "demo/assistant",
  app: "default",
  user_state: null,
} as const;

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
      // The shown text lacks at most a fifth of the text, and never the first words.
      const shown = (JSON.parse(last.split("data: ")[1]!) as { revision: number }).revision;
      expect(shown).toBeGreaterThan((offset + piece) * 0.8 - piece);
    }
    expect(bytes).toBeLessThan(length * 6);
  });

  it.each([
    ["words", "word"],
    ["blanks", "    "],
  ])("reads a text of %s only when it sends it", (_what, piece) => {
    const stream = new EventStream(viewOf(), 0);
    const trim = vi.spyOn(String.prototype, "trim");
    for (let offset = 0; offset < 40_000; offset += piece.length) stream.encode(delta(offset, piece));
    const reads = trim.mock.calls.length;
    trim.mockRestore();
    expect(reads).toBeLessThan(60);
  });

  it("begins each text with its first words", () => {
    const stream = new EventStream(viewOf(), 0);
    stream.encode(delta(0, "a".repeat(1_000)));
    const call = { id: "c1", name: "look", arguments: {}, status: "running", text_offset: 1_000 } as const;
    const called = answer(1, { content: "a".repeat(1_000), tool_calls: [call] });
    stream.encode({ session_id: SESSION, type: "message_updated", message: called });
    expect(stream.encode(delta(1_000, "\n\nHi"))).toMatch(/"content":"Hi"/);
  });

  it("sends no page for text, and begins with one", () => {
    const stream = new EventStream(viewOf(), 0);
    expect(stream.begin()).toMatch(/^event: page\n/);
    expect(stream.encode(delta(0, "Hi"))).toMatch(/^event: message\ndata: .*"content":"Hi".*\n\n$/);
    expect(stream.encode(delta(0, "Hi"))).toBe("");
  });

  it("ends no turn before its answer or the state of its transaction", () => {
    const before = [message(1), answer(1, { content: "One.", status: "complete" })];
    const stream = new EventStream(viewOf(before, { is_processing: false, status: "idle" }), 0);
    stream.begin();
    const second = message(2, { id: "u2" });
    expect(stream.encode(created(second))).toContain("processing");
    expect(stream.encode(created(answer(2, { id: "a2" })))).toBe("");
    expect(stream.encode(STATE)).toBe("");
  });

  it("ends a turn that has no answer with the next event", () => {
    for (const next of [created(message(2, { id: "u2" })), STATE]) {
      const stream = new EventStream(viewOf([], { is_processing: false, status: "idle" }), 0);
      stream.begin();
      expect(stream.encode(created(message(1)))).not.toContain('"complete"');
      const text = stream.encode(next.type === "state_changed" ? { ...next, status: "idle" } : next);
      expect(text).toContain('"complete"');
    }
  });

  it("reads only the turns that may still change, and none for updates that add no events", () => {
    let reads = 0;
    const counted = (one: Message): Message => {
      const count = <Value>(value: Value) => ({
        enumerable: true,
        get: () => {
          reads += 1;
          return value;
        },
      });
      return Object.defineProperties({ ...one }, { turn: count(one.turn), sender: count(one.sender) });
    };
    const messages = Array.from({ length: 1_000 }, (_, index) => [
      counted(message(index + 1, { id: `u${index}` })),
      counted(answer(index + 1, { id: `a${index}`, content: "Yes.", status: "complete" })),
    ]).flat();
    const view = viewOf([...messages, counted(message(1_001)), counted(answer(1_001))]);
    const { sequence } = pageAfter(view, sequenceOf(1_000, END, 2)).events.at(-1)!;
    const [stream, next] = [new EventStream(view, sequence), new NextEvent(view, sequence)];
    stream.begin();
    for (const follower of [stream, next]) {
      reads = 0;
      follower.encode({ session_id: SESSION, type: "tool_update" });
      expect(reads).toBeLessThan(2);
      const calls = [{ id: "c1", name: "look", arguments: {}, status: "running" } as const];
      follower.encode({
        session_id: SESSION,
        type: "message_updated",
        message: answer(1_001, { tool_calls: calls }),
      });
      expect(reads).toBeGreaterThan(0);
      expect(reads).toBeLessThan(30);
    }
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
