import { describe, expect, it } from "vitest";
import { wireBytesOf } from "../message.ts";
import { newSession } from "../session.ts";
import { SessionDraft } from "./draft.ts";

const AT = Date.UTC(2026, 0, 1);
const MESSAGE = {
  id: "m1",
  turn: 1,
  role: "user",
  content: "x",
  status: "queued",
  toolCalls: [],
  toolResults: [],
} as const;
const newDraft = (): SessionDraft =>
  new SessionDraft(
    { ...newSession(1, "id", { incarnation: "abc", model: "a/b" }, 0), head: 41 },
    AT,
    () => 9,
  );

describe("a draft", () => {
  it("numbers its events without gaps after the last one, and records their time", () => {
    const draft = newDraft();
    draft.emit({ type: "title_changed", new_title: "a" });
    draft.addNotice("info", "model_gone", "Text.");
    expect(draft.events.map(({ number }) => number)).toEqual([42, 43, 44]);
    expect(draft.session).toMatchObject({ head: 44, updatedAt: AT });
  });

  it("stores a notice as a system event whose id contains its event number", () => {
    const draft = newDraft();
    draft.addNotice("warning", "model_gone", "Text.");
    const payload = { code: "model_gone", level: "warning", message: "Text." };
    const item = { id: "abc-42", type: "notice", created_at: "2026-01-01T00:00:00.000Z", payload };
    expect(draft.systemEvents).toEqual([{ number: 42, item }]);
    expect(draft.events.map(({ event }) => event)).toEqual([
      { type: "system_event", item },
      { type: "system_notice", message: "Text.", level: "warning", code: "model_gone" },
    ]);
    draft.addNotice("error", "model_gone", "Text.");
    expect(draft.systemEvents[1]?.item.type).toBe("error");
  });

  it("emits a status only if it changes", () => {
    const draft = newDraft();
    draft.moveStatus("interrupt");
    expect(draft.events).toEqual([]);
    draft.moveStatus("chat");
    expect(draft.session.status).toBe("processing");
    expect(draft.events[0]?.event).toEqual({
      type: "state_changed",
      status: "processing",
      model: "a/b",
      app: "default",
      user_state: null,
    });
    draft.moveStatus("chat");
    expect(draft.events).toHaveLength(1);
  });

  it("numbers messages and turns, and writes each new one once, in its final state", () => {
    const draft = newDraft();
    const added = draft.addMessage(MESSAGE);
    expect(added).toMatchObject({ position: 1, createdAt: AT });
    draft.changeMessage(added, { ...added, status: "complete" }, "message_updated");
    expect(draft.addedMessages).toMatchObject([{ status: "complete" }]);
    expect(draft.changedMessages.size).toBe(0);
    const other = { ...added, position: 7 };
    draft.changeMessage(other, { ...other, status: "complete" }, "message_completed");
    expect(draft.changedMessages.get(7)).toMatchObject({ status: "complete" });
    expect(draft.events.map(({ event }) => event.type)).toEqual([
      "message_created",
      "message_updated",
      "message_completed",
    ]);
    expect(draft.session.messageCount).toBe(1);
  });

  it("counts the bytes that a change adds to a message, and serializes only added results to count them", () => {
    const draft = newDraft();
    let serialized = 0;
    const output = { toJSON: () => ((serialized += 1), "large") } as unknown as string;
    const result = (call_id: string) => ({ call_id, name: "t", output, is_error: false, duration_ms: 1 });
    const first = draft.addMessage({ ...MESSAGE, toolResults: [result("a")] });
    expect(serialized).toBe(1);
    const changed = {
      ...first,
      status: "complete",
      toolResults: [...first.toolResults, result("é")],
    } as const;
    draft.changeMessage(first, changed, "message_updated");
    // Both results for the event, and the added one again to count its bytes.
    expect(serialized).toBe(1 + 2 + 1);
    expect(draft.session.messageBytes).toBe(wireBytesOf(changed));
    const completed = { ...changed, content: "ü", toolResults: [] };
    draft.changeMessage(changed, completed, "message_completed");
    expect(draft.session.messageBytes).toBe(wireBytesOf(completed));
  });

  it("increments the epoch for each lease and each interrupt", () => {
    let next = 0;
    const draft = new SessionDraft(newDraft().session, AT, () => (next += 1));
    expect([draft.raiseEpoch(), draft.raiseEpoch(), draft.session.epoch]).toEqual([1, 2, 2]);
  });
});
