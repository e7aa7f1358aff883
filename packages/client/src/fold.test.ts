import { describe, expect, it } from "vitest";
import { fold, type SessionUpdate, visible, withHidden } from "./fold.ts";
import { action, message, snapshot, SESSION } from "../test/snapshots.ts";

const update = (event: object): SessionUpdate => ({ session_id: SESSION, ...event }) as SessionUpdate;
const delta = (offset: number, text: string): SessionUpdate =>
  update({ type: "message_delta", message_id: "m2", offset, text });

const before = snapshot({
  messages: [message("m1", "user", "Hi"), message("m2", "agent", "Hello", { status: "streaming" })],
});

describe("fold", () => {
  it("replaces the message with the same id, or appends it", () => {
    const done = message("m2", "agent", "Hello!");
    const { messages } = fold(before, update({ type: "message_completed", message: done }), "a-2")!.snapshot;
    expect(messages).toEqual([before.messages[0], done]);
    const third = message("m3", "user", "And?");
    expect(
      fold(before, update({ type: "message_created", message: third }), "a-2")!.snapshot.messages,
    ).toEqual([...before.messages, third]);
  });

  it("changes title and state", () => {
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

  it("keeps a hundred system events, and the pending actions", () => {
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

  it("keeps every unchanged object identical", () => {
    const { snapshot } = fold(before, delta(5, " you"), null)!;
    expect(snapshot.messages[0]).toBe(before.messages[0]);
    expect(snapshot.system_events).toBe(before.system_events);
    expect(before.messages[1]?.content).toBe("Hello");
  });

  it("asks for the snapshot after an event of an unknown type, and after a removal of an unknown message", () => {
    expect(fold(before, update({ type: "weather_changed" }), "a-2")).toBeNull();
    expect(fold(before, update({ type: "messages_removed", from: "gone" }), "a-2")).toBeNull();
  });

  it("removes a message with all after it, and the system events since then", () => {
    const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
    const messages = [1, 2, 3].map((n) => message(`m${n}`, "user", "x", { created_at: at(n) }));
    const system_events = [1, 2, 3].map((n) => ({
      id: `a-${n}`,
      type: "notice" as const,
      created_at: at(n),
      payload: {},
    }));
    const folded = fold(
      { ...before, messages, system_events },
      update({ type: "messages_removed", from: "m2" }),
      "a-9",
    );
    expect(folded?.snapshot).toEqual({
      ...before,
      messages: messages.slice(0, 1),
      system_events: system_events.slice(0, 1),
      last_event_id: "a-9",
    });
  });
});

describe("fold with only the latest messages", () => {
  const last = { ...before, messages_before: 8 };
  const other = message("m0", "agent", "Hello", { feedback: { score: 1, created_at: "" } });

  it("ignores events of earlier messages", () => {
    for (const type of ["message_created", "message_updated", "message_completed"])
      expect(fold(last, update({ type, message: other, index: 7 }), "a-2")).toEqual({
        snapshot: { ...last, last_event_id: "a-2" },
        update: null,
      });
  });

  it("inserts messages at their index in the session", () => {
    const created = fold(last, update({ type: "message_created", message: other, index: 9 }), "a-2")!;
    expect(created.snapshot.messages.map(({ id }) => id)).toEqual(["m1", "m0", "m2"]);
    const without = fold(last, update({ type: "message_created", message: other }), "a-2")!;
    expect(without.snapshot.messages.map(({ id }) => id)).toEqual(["m1", "m2", "m0"]);
  });

  it("requests a snapshot if the index of a message is unknown or all loaded messages are removed", () => {
    expect(fold(last, update({ type: "message_updated", message: other }), "a-2")).toBeNull();
    for (const from of ["m0", "m1"])
      expect(fold(last, update({ type: "messages_removed", from }), "a-2")).toBeNull();
    expect(fold(last, update({ type: "messages_removed", from: "m2" }), "a-2")).not.toBeNull();
  });
});

describe("fold of a message that a snapshot left out", () => {
  const late = message("m0", "agent", "I begin", { status: "streaming" });
  const third = message("m3", "user", "And?");
  const ids = (event: object, id: string | null): readonly string[] =>
    fold(before, update({ message: late, ...event }), id)!.snapshot.messages.map((one) => one.id);

  it.each(["message_created", "message_updated", "message_completed"])(
    "inserts it at its index in %s",
    (type) => {
      expect(ids({ type, index: 0 }, "a-2")).toEqual(["m0", "m1", "m2"]);
      expect(ids({ type, index: 1 }, "a-2")).toEqual(["m1", "m0", "m2"]);
      expect(ids({ type, index: 1 }, null)).toEqual(["m1", "m0", "m2"]);
      expect(ids({ type, index: 2 }, "a-2")).toEqual(["m1", "m2", "m0"]);
    },
  );

  it("appends it without an index (older service) or with one beyond the end", () => {
    expect(ids({ type: "message_created" }, "a-2")).toEqual(["m1", "m2", "m0"]);
    expect(ids({ type: "message_updated", index: 9 }, null)).toEqual(["m1", "m2", "m0"]);
  });

  it("keeps the position of known messages", () => {
    const known = { ...before.messages[0]!, content: "Hi!" };
    const { messages } = fold(
      before,
      update({ type: "message_updated", message: known, index: 1 }),
      "a-2",
    )!.snapshot;
    expect(messages).toEqual([known, before.messages[1]]);
    const created = fold(before, update({ type: "message_created", message: third, index: 2 }), "a-2")!;
    expect(created.snapshot.messages).toEqual([...before.messages, third]);
  });
});

describe("fold of a whole streaming message without an id", () => {
  const whole = (content: string, parts: object = {}): SessionUpdate =>
    update({
      type: "message_updated",
      message: message("m2", "agent", content, { status: "streaming", ...parts }),
      index: 1,
    });

  it.each([
    ["more", "Hello you", { offset: 5, text: " you" }],
    ["other after a crash", "Help me", { offset: 0, text: "Help me" }],
    ["less after a crash", "Hel", { offset: 0, text: "Hel" }],
  ])("reports the text that is %s as a delta", (_name, content, told) => {
    const folded = fold(before, whole(content), null)!;
    expect(folded.snapshot.messages[1]?.content).toBe(content);
    expect(folded.snapshot.last_event_id).toBe(before.last_event_id);
    expect(folded.update).toEqual({
      session_id: SESSION,
      type: "message_delta",
      message_id: "m2",
      ...told,
    });
  });

  it("ignores it after the message has ended, as sent by a node behind the log", () => {
    const ended = message("m2", "agent", "Hello", { status: "complete" });
    const after = { ...before, messages: [before.messages[0]!, ended] };
    expect(fold(after, whole("Hello"), null)).toEqual({ snapshot: after, update: null });
  });

  it("changes nothing if all of it is known", () => {
    const folded = fold(before, whole("Hello"), null)!;
    expect(folded).toEqual({ snapshot: before, update: null });
    expect(folded.snapshot).toBe(before);
  });

  it("reports an update if more than the text is new", () => {
    const call = { id: "c1", name: "walk", arguments: {}, status: "running" };
    for (const event of [whole("Hello", { tool_calls: [call] }), whole("Hello", { turn: 1 })]) {
      const folded = fold(before, event, null)!;
      expect(folded.update).toEqual(event);
      expect(folded.snapshot.messages[1]).toEqual((event as { message?: unknown }).message);
      expect(folded.snapshot.last_event_id).toBe(before.last_event_id);
    }
  });

  it("reports an update if it has an id, also for text alone", () => {
    const folded = fold(before, whole("Hello you"), "a-2")!;
    expect(folded.update).toEqual(whole("Hello you"));
    expect(folded.snapshot.last_event_id).toBe("a-2");
  });

  it("lets later text continue after it", () => {
    const empty = snapshot({ messages: [before.messages[0]!] });
    const joined = fold(empty, whole("Hello"), null)!.snapshot;
    expect(joined.messages.map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect(fold(joined, delta(5, " you"), null)!.snapshot.messages[1]?.content).toBe("Hello you");
  });
});

describe("visible", () => {
  it("omits only a streaming answer without text and calls", () => {
    const call = { id: "c1", name: "walk", arguments: {}, status: "running" } as const;
    const shown = [
      message("m1", "user", ""),
      message("m2", "agent", "", { status: "complete" }),
      message("m3", "agent", "", { status: "streaming", tool_calls: [call] }),
      message("m4", "agent", "I", { status: "streaming" }),
    ];
    const hidden = message("m5", "agent", "", { status: "streaming" });
    expect(visible(snapshot({ messages: [...shown, hidden] })).messages).toEqual(shown);
    const all = snapshot({ messages: shown });
    expect(visible(all)).toBe(all);
  });
});

describe("withHidden", () => {
  const hidden = message("m2", "agent", "", { status: "streaming" });
  const [first] = before.messages;
  const known = snapshot({ messages: [first!, hidden] });

  it("keeps the position of a hidden answer that a newer snapshot omits", () => {
    const next = message("m3", "user", "And?");
    const after = snapshot({ messages: [first!, next], title: "Tea" });
    expect(withHidden(known, after)).toEqual({ ...after, messages: [first, hidden, next] });
  });

  it("keeps the position of a hidden answer when earlier messages are loaded", () => {
    const after = snapshot({ messages: [first!], messages_before: 8 });
    expect(withHidden(snapshot({ messages: [hidden], messages_before: 9 }), after).messages).toEqual([
      first,
      hidden,
    ]);
  });

  it("drops the hidden answer once it has ended, and in another incarnation of the session", () => {
    for (const messages of [
      [first!, { ...hidden, status: "failed" } as const],
      [message("n1", "user", "Hi")],
    ]) {
      const after = snapshot({ messages });
      expect(withHidden(known, after)).toBe(after);
    }
  });
});

describe("fold of streaming text", () => {
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

  it.each([delta(0, "Hello"), delta(2, "ll"), delta(5, "")])("ignores known text", (event) => {
    expect(fold(before, event, null)).toEqual({ snapshot: before, update: null });
  });

  it("asks for the snapshot on a gap", () => {
    expect(fold(before, delta(6, "!"), null)).toBeNull();
    expect(fold(snapshot({}), delta(0, "!"), null)).toBeNull();
  });

  it("ignores text of a complete answer", () => {
    const done = snapshot({ messages: [message("m2", "agent", "Hello!")] });
    expect(fold(done, delta(0, "Hel"), null)).toEqual({ snapshot: done, update: null });
  });
});
