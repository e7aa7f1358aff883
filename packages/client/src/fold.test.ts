import { describe, expect, it } from "vitest";
import { fold, type SessionUpdate } from "./fold.ts";
import { action, message, snapshot, SESSION } from "../test/snapshots.ts";

const update = (event: object): SessionUpdate => ({ session_id: SESSION, ...event }) as SessionUpdate;
const delta = (offset: number, text: string): SessionUpdate =>
  update({ type: "message_delta", message_id: "m2", offset, text });

const before = snapshot({
  messages: [message("m1", "user", "Hi"), message("m2", "agent", "Hello", { status: "streaming" })],
});

describe("events of a session", () => {
  it("replace the message of their id, or append it", () => {
    const done = message("m2", "agent", "Hello!");
    const { messages } = fold(before, update({ type: "message_completed", message: done }), "a-2")!.snapshot;
    expect(messages).toEqual([before.messages[0], done]);
    const third = message("m3", "user", "And?");
    expect(
      fold(before, update({ type: "message_created", message: third }), "a-2")!.snapshot.messages,
    ).toEqual([...before.messages, third]);
  });

  it("change title and state", () => {
    expect(fold(before, update({ type: "title_changed", new_title: "Tea" }), "a-2")!.snapshot).toEqual({
      ...before,
      title: "Tea",
      last_event_id: "a-2",
    });
    const state = { status: "processing", model: "x/y", app: "defi", user_state: { a: 1 } } as const;
    expect(fold(before, update({ type: "state_changed", ...state }), "a-2")!.snapshot).toEqual({
      ...before,
      ...state,
      is_processing: true,
      last_event_id: "a-2",
    });
  });

  it("keep a hundred system events, and the actions that wait", () => {
    const item = (id: string, type: string, payload: object): object => ({
      id,
      type,
      created_at: "",
      payload,
    });
    let now = before;
    for (let number = 0; number < 101; number += 1) {
      const asked = action(`action-${number}`);
      const event = update({ type: "system_event", item: item(`s${number}`, "action_requested", asked) });
      now = fold(now, event, `a-${number}`)!.snapshot;
    }
    expect(now.system_events).toHaveLength(100);
    expect(now.system_events[0]?.id).toBe("s1");
    expect(now.pending_actions).toHaveLength(101);
    const resolved = item("r", "action_resolved", { id: "action-7", status: "approved", result: null });
    now = fold(now, update({ type: "system_event", item: resolved }), "a-200")!.snapshot;
    expect(now.pending_actions.map(({ id }) => id)).not.toContain("action-7");
    expect(now.pending_actions).toHaveLength(100);
  });

  it("leave everything else the same object, so that a view can tell what is new", () => {
    const { snapshot } = fold(before, delta(5, " you"), null)!;
    expect(snapshot.messages[0]).toBe(before.messages[0]);
    expect(snapshot.system_events).toBe(before.system_events);
    expect(before.messages[1]?.content).toBe("Hello");
  });

  it("of a type that is not known move on and change nothing", () => {
    expect(fold(before, update({ type: "weather_changed" }), "a-2")!.snapshot).toEqual({
      ...before,
      last_event_id: "a-2",
    });
  });
});

describe("text that streams", () => {
  it.each([
    ["goes on", delta(5, " you"), "Hello you", { offset: 5, text: " you" }],
    ["overlaps what is there", delta(3, "lo you"), "Hello you", { offset: 5, text: " you" }],
    ["comes again from the start", delta(0, "Hello you"), "Hello you", { offset: 5, text: " you" }],
    [
      "comes again from the start and is less after a crash",
      delta(0, "Hel"),
      "Hel",
      { offset: 0, text: "Hel" },
    ],
    [
      "comes again from the start and is other after a crash",
      delta(0, "Help me"),
      "Help me",
      { offset: 0, text: "Help me" },
    ],
    ["is all gone after a crash", delta(0, ""), "", { offset: 0, text: "" }],
    ["repeats the text that is there", delta(5, "Hello"), "HelloHello", { offset: 5, text: "Hello" }],
  ])("%s", (_name, event, content, told) => {
    const folded = fold(before, event, null)!;
    expect(folded.snapshot.messages[1]?.content).toBe(content);
    expect(folded.update).toEqual({ ...event, ...told });
    expect(folded.snapshot.last_event_id).toBe(before.last_event_id);
  });

  it.each([delta(0, "Hello"), delta(2, "ll"), delta(5, "")])("that is known tells nothing", (event) => {
    expect(fold(before, event, null)).toEqual({ snapshot: before, update: null });
  });

  it("with a gap before it asks for the snapshot", () => {
    expect(fold(before, delta(6, "!"), null)).toBeNull();
    expect(fold(snapshot({}), delta(0, "!"), null)).toBeNull();
  });

  it("of an answer that is complete is late", () => {
    const done = snapshot({ messages: [message("m2", "agent", "Hello!")] });
    expect(fold(done, delta(0, "Hel"), null)).toEqual({ snapshot: done, update: null });
  });
});
