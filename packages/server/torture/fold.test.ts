import type { Message, Snapshot, UpdateEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { compareFold, foldDelta, foldEvent, splitEventId } from "./fold.ts";

const ID = "6f1c3c1e-0000-4000-8000-000000000001";
const EMPTY: Snapshot = {
  messages: [],
  system_events: [],
  pending_actions: [],
  title: "New Chat",
  is_processing: false,
  user_state: null,
  session_id: ID,
  app: "default",
  status: "idle",
  model: "demo/assistant",
  last_event_id: "k3f9-0",
};

function message(id: string, fields: Partial<Message> = {}): Message {
  return {
    sender: "user",
    content: "hello",
    id,
    created_at: "2026-11-20T00:00:00.000Z",
    status: "complete",
    ...fields,
  };
}

function folded(events: readonly Record<string, unknown>[]): Snapshot {
  return events.reduce<Snapshot>(
    (state, event, index) =>
      foldEvent(state, { session_id: ID, ...event } as unknown as UpdateEvent, `k3f9-${index + 1}`),
    EMPTY,
  );
}

describe("the fold", () => {
  it("follows messages, state, title and system events", () => {
    const item = { id: "k3f9-5", type: "notice", created_at: "2026-11-20T00:00:00.000Z", payload: {} };
    const state = folded([
      { type: "message_created", message: message("a", { status: "queued" }) },
      { type: "state_changed", status: "processing", model: "m/x", app: "default", user_state: { a: 1 } },
      { type: "message_updated", message: message("a") },
      { type: "title_changed", new_title: "Greeting" },
      { type: "system_event", item },
      { type: "tool_update", call_id: "c" },
    ]);
    expect(state).toEqual({
      ...EMPTY,
      messages: [message("a")],
      status: "processing",
      is_processing: true,
      model: "m/x",
      user_state: { a: 1 },
      title: "Greeting",
      system_events: [item],
      last_event_id: "k3f9-6",
    });
  });

  it("keeps the last hundred system events", () => {
    const events = Array.from({ length: 130 }, (_, index) => ({
      type: "system_event",
      item: { id: String(index) },
    }));
    const { system_events } = folded(events);
    expect(system_events).toHaveLength(100);
    expect(system_events[0]?.id).toBe("30");
  });

  it("adds text, drops overlaps and detects gaps", () => {
    const streaming = folded([
      {
        type: "message_created",
        message: message("a", { sender: "agent", status: "streaming", content: "one " }),
      },
    ]);
    const delta = (offset: number, text: string) => foldDelta(streaming, { message_id: "a", offset, text });
    expect(delta(4, "two")?.messages[0]?.content).toBe("one two");
    expect(delta(0, "one two")?.messages[0]?.content).toBe("one two");
    expect(delta(2, "e")).toBe(streaming);
    expect(delta(0, "on")?.messages[0]?.content).toBe("on");
    expect(delta(5, "two")).toBeNull();
    expect(foldDelta(streaming, { message_id: "b", offset: 0, text: "x" })).toBeNull();
  });

  it("adds no text to a sealed message", () => {
    const sealed = folded([{ type: "message_created", message: message("a", { status: "interrupted" }) }]);
    expect(foldDelta(sealed, { message_id: "a", offset: 5, text: " more" })).toBe(sealed);
  });
});

describe("compareFold", () => {
  it("returns nothing for equal states and names differences", () => {
    expect(compareFold(EMPTY, structuredClone(EMPTY), false)).toEqual([]);
    expect(compareFold(EMPTY, { ...EMPTY, title: "x" }, false)).toEqual([expect.stringContaining("title")]);
    expect(compareFold(EMPTY, { ...EMPTY, messages: [message("a")] }, true)).toEqual([
      expect.stringContaining("messages"),
    ]);
  });

  it("names the first item of a list that differs", () => {
    const listing = (...messages: Message[]) => ({ ...EMPTY, messages });
    const [one, two, other] = [message("1"), message("2"), message("2", { content: "other" })];
    expect(compareFold(listing(one, two), listing(one, other), false)).toEqual([
      `messages: 2 and 2 items, item 1: fold ${JSON.stringify(two)}, snapshot ${JSON.stringify(other)}`,
    ]);
    expect(compareFold(listing(one), listing(one, two), false)).toEqual([
      `messages: 1 and 2 items, item 1: fold nothing, snapshot ${JSON.stringify(two)}`,
    ]);
  });

  it("ignores streaming text, and only that, while a message streams", () => {
    const at = (content: string, status: Message["status"]) => ({
      ...EMPTY,
      messages: [message("a", { sender: "agent", content, status })],
    });
    expect(compareFold(at("on", "streaming"), at("one", "streaming"), true)).toEqual([]);
    expect(compareFold(at("on", "streaming"), at("one", "streaming"), false)).toHaveLength(1);
    expect(compareFold(at("on", "complete"), at("one", "complete"), true)).toHaveLength(1);
  });
});

describe("event ids", () => {
  it("are split into incarnation and number", () => {
    expect(splitEventId("k3f9-42")).toEqual({ incarnation: "k3f9", number: 42 });
  });
});
