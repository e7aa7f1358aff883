import { describe, expect, it } from "vitest";
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
  new SessionDraft({ ...newSession(1, "id", { life: "abc", model: "a/b" }, 0), head: 41 }, AT, () => 9);

describe("a draft", () => {
  it("numbers its events without a gap after the last one, and notes the time of what happened", () => {
    const draft = newDraft();
    draft.emit({ type: "title_changed", new_title: "a" });
    draft.notify("info", "code", "Text.");
    expect(draft.events.map(({ number }) => number)).toEqual([42, 43, 44]);
    expect(draft.session).toMatchObject({ head: 44, updatedAt: AT });
  });

  it("keeps a notice as a system event too, whose id is its event's", () => {
    const draft = newDraft();
    draft.notify("warning", "code", "Text.");
    const payload = { code: "code", level: "warning", message: "Text." };
    const item = { id: "abc-42", type: "notice", created_at: "2026-01-01T00:00:00.000Z", payload };
    expect(draft.systemEvents).toEqual([{ number: 42, item }]);
    expect(draft.events.map(({ event }) => event)).toEqual([
      { type: "system_event", item },
      { type: "system_notice", message: "Text.", level: "warning", code: "code" },
    ]);
    draft.notify("error", "code", "Text.");
    expect(draft.systemEvents[1]?.item.type).toBe("error");
  });

  it("announces a status only when it changes", () => {
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

  it("numbers messages and turns, and writes what it added once, as it is in the end", () => {
    const draft = newDraft();
    const added = draft.addMessage(MESSAGE);
    expect(added).toMatchObject({ position: 1, createdAt: AT });
    draft.changeMessage({ ...added, status: "complete" }, "message_updated");
    expect(draft.addedMessages).toMatchObject([{ status: "complete" }]);
    expect(draft.changedMessages.size).toBe(0);
    draft.changeMessage({ ...added, position: 7, status: "complete" }, "message_completed");
    expect(draft.changedMessages.get(7)).toMatchObject({ status: "complete" });
    expect(draft.events.map(({ event }) => event.type)).toEqual([
      "message_created",
      "message_updated",
      "message_completed",
    ]);
    expect(draft.session.messageCount).toBe(1);
  });

  it("takes a new epoch for each lease and each interrupt", () => {
    let next = 0;
    const draft = new SessionDraft(newDraft().session, AT, () => (next += 1));
    expect([draft.raiseEpoch(), draft.raiseEpoch(), draft.session.epoch]).toEqual([1, 2, 2]);
  });
});
