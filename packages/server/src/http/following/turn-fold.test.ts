import type { Message, UpdateEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { TurnFold } from "./turn-fold.ts";

const ID = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c01";
const AT = "2026-11-20T12:00:00.000Z";

const message = (content: string, more: Partial<Message> = {}): Message => ({
  sender: "agent",
  content,
  id: ID,
  created_at: AT,
  status: "streaming",
  turn: 2,
  ...more,
});
const question = (status: Message["status"]): Message => message("hi", { sender: "user", id: AT, status });
const event = (type: string, fields: object): UpdateEvent =>
  ({ session_id: ID, type, ...fields }) as unknown as UpdateEvent;
const systemEvent = (type: string, payload: object): UpdateEvent =>
  event("system_event", { item: { id: "e", type, created_at: AT, payload } });
const idle = event("state_changed", { status: "idle" });
const removed = event("messages_removed", { from: AT });

/** Returns the state of turn 2 after these events. */
function after(...events: readonly UpdateEvent[]): TurnFold {
  const turn = new TurnFold({ turn: 2, answers: [], pendingActions: [], failure: null });
  for (const one of events) turn.apply(one);
  return turn;
}

describe("the fold of a turn", () => {
  const begun = event("message_created", { message: message("One") });

  it("appends to the answer of its turn, and ignores other turns", () => {
    const other = event("message_created", { message: message("other", { turn: 1 }) });
    const delta = (offset: number, text: string) => event("message_delta", { message_id: ID, offset, text });
    const turn = after(other, begun, delta(3, " two"), delta(99, "gap"));
    expect([turn.answer?.content, turn.end]).toEqual(["One two", null]);
  });

  it.each([
    ["complete", event("message_completed", { message: message("One", { status: "complete" }) })],
    ["failed", event("message_completed", { message: message("One", { status: "failed" }) })],
    ["interrupted", event("message_completed", { message: question("interrupted") })],
    ["interrupted", idle],
    ["gone", removed],
    ["gone", event("system_notice", { code: "session_deleted", message: "Deleted." })],
    [null, event("system_notice", { code: "resync", message: "Read again." })],
    [null, event("state_changed", { status: "processing" })],
  ])("ends as %s", (end, last) => {
    expect(after(begun, last).end).toBe(end);
  });

  it("keeps streamed text if an interrupt stored less", () => {
    const cut = (status: Message["status"], content = "On") =>
      event("message_completed", { message: message(content, { status }) });
    const ends = [cut("interrupted"), cut("interrupted", "Two"), cut("failed")];
    expect(ends.map((end) => after(begun, end).answer?.content)).toEqual(["One", "Two", "On"]);
  });

  describe("of a steered turn", () => {
    const NEXT = "019a9c1e-6b60-7c3e-9a55-2f1d3b7e4c02";
    const part = (more: Partial<Message>) => message("One", { status: "complete", ...more });
    const first = part({ steps: { from: 1, to: 2 } });
    const next = part({ content: "Two", id: NEXT, status: "streaming", steps: { from: 3 } });
    const updated = (changed: Message) => event("message_updated", { message: changed });

    it("remains open until its last message has ended, and joins the messages", () => {
      const turn = after(begun, updated(first));
      expect([turn.answer?.status, turn.end]).toEqual(["streaming", null]);
      turn.apply(event("message_created", { message: next }));
      turn.apply(event("message_delta", { message_id: NEXT, offset: 3, text: " three" }));
      expect(turn.answer).toMatchObject({ id: ID, content: "One\n\nTwo three", status: "streaming" });
      expect(turn.answers.map(({ content }) => content)).toEqual(["One", "Two three"]);
      turn.apply(updated({ ...next, status: "complete" }));
      expect([turn.answer?.status, turn.end]).toEqual(["complete", "complete"]);
    });

    it("keeps the order of messages that change later", () => {
      const contents = (turn: TurnFold) => turn.answers.map(({ content }) => content);
      expect(contents(after(updated(first), updated(next), updated({ ...first, content: "1" })))).toEqual([
        "1",
        "Two",
      ]);
      expect(contents(after(updated(next), updated(first)))).toEqual(["Two"]);
    });

    it("waits only for the calls of the last message, even if an earlier one has the same ids", () => {
      const call = { id: "a", name: "tool", arguments: {}, status: "running" as const };
      const result = { call_id: "a", name: "tool", output: 1, is_error: false, duration_ms: 1 };
      const asked = systemEvent("action_requested", { id: "a", call_id: "a" });
      const called = updated({ ...first, tool_calls: [call], tool_results: [result] });
      expect(after(called, updated({ ...next, tool_calls: [call] }), asked).isWaiting).toBe(true);
    });
  });

  it("does not end when messages before its own are removed", () => {
    expect(after(removed, begun).end).toBeNull();
  });

  it("reports the reason of a failure, which follows the message", () => {
    const failed = event("message_completed", { message: message("", { status: "failed" }) });
    const error = (turn: number) => systemEvent("error", { turn, message: "No." });
    expect(after(failed, error(1)).failure).toBeNull();
    expect(after(failed, error(2)).failure).toBe("No.");
    expect([after(failed).isIdle, after(failed, idle).isIdle]).toEqual([false, true]);
  });

  it("waits once every open call waits for a person", () => {
    const call = (id: string) => ({ id, name: "tool", arguments: {}, status: "running" as const });
    const asked = (id: string) => systemEvent("action_requested", { id, call_id: id });
    const called = event("message_updated", { message: message("", { tool_calls: [call("a"), call("b")] }) });
    expect(after(called, asked("a")).isWaiting).toBe(false);
    const waiting = after(called, asked("a"), asked("b"));
    expect(waiting.isWaiting).toBe(true);
    waiting.apply(systemEvent("action_resolved", { id: "a" }));
    expect(waiting.isWaiting).toBe(false);
    expect(after(begun).isWaiting).toBe(false);
  });
});
