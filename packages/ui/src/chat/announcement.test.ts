import type { Message, PendingAction, Snapshot } from "@colloquy/client";
import { expect, it } from "vitest";
import { announcementOf } from "./announcement.ts";

const QUESTION: PendingAction = {
  id: "a1",
  kind: "question",
  tool: "ask_user",
  call_id: "c1",
  created_at: "2026-11-21T12:00:00.000Z",
  expires_at: "2026-11-21T12:10:00.000Z",
  request: { question: "Which one?", choices: [] },
};

function answer(status: Message["status"], content = "Hello there.", id = "m1"): Message {
  return { id, sender: "agent", content, status, created_at: "2026-11-21T12:00:00.000Z" };
}

function snapshot(messages: Message[], pending_actions: PendingAction[] = []): Snapshot {
  return {
    messages,
    pending_actions,
    system_events: [],
    title: "t",
    is_processing: true,
    user_state: null,
    session_id: "s",
    app: "default",
    status: "processing",
    model: "demo/assistant",
    last_event_id: "0",
  };
}

it("announces an answer when it starts and when it is complete, not in between", () => {
  const [none, begun, grown, whole] = [
    snapshot([]),
    snapshot([answer("streaming", "")]),
    snapshot([answer("streaming", "Hello")]),
    snapshot([answer("complete")]),
  ];
  expect(announcementOf(none, begun)).toBe("The assistant is answering.");
  expect(announcementOf(begun, grown)).toBeNull();
  expect(announcementOf(grown, whole)).toBe("The assistant said: Hello there.");
  expect(announcementOf(whole, whole)).toBeNull();
});

it("does not announce answers that were there from the start", () => {
  expect(announcementOf(null, snapshot([answer("complete")]))).toBeNull();
});

it("announces a complete new answer at once, and a long one in part", () => {
  expect(announcementOf(snapshot([]), snapshot([answer("complete")]))).toContain("Hello there.");
  const told = announcementOf(snapshot([]), snapshot([answer("complete", "word ".repeat(1_000))]));
  expect(told?.length).toBeLessThan(450);
  expect(told).toMatch(/… and more\.$/);
});

it.each([
  ["interrupted", "The answer was stopped."],
  ["failed", "The assistant could not finish this answer."],
] as const)("announces an answer that was %s", (status, told) => {
  expect(announcementOf(snapshot([answer("streaming")]), snapshot([answer(status)]))).toBe(told);
});

it("announces a pending action once", () => {
  const [before, after] = [snapshot([answer("streaming")]), snapshot([answer("streaming")], [QUESTION])];
  expect(announcementOf(before, after)).toBe("The assistant asks: Which one?");
  expect(announcementOf(after, after)).toBeNull();
});

it("announces the end of an answer together with the start of the next one", () => {
  const before = snapshot([answer("streaming", "The an")]);
  const after = snapshot([answer("complete", "The answer is 84."), answer("streaming", "", "m2")]);
  expect(announcementOf(before, after)).toBe(
    "The assistant said: The answer is 84. The assistant is answering.",
  );
});

it("announces all actions requested at once", () => {
  const other: PendingAction = { ...QUESTION, id: "a2", request: { question: "And how?", choices: [] } };
  const before = snapshot([answer("streaming")]);
  expect(announcementOf(before, snapshot([answer("streaming")], [QUESTION, other]))).toBe(
    "The assistant asks: Which one? The assistant asks: And how?",
  );
});

it("does not announce earlier messages when they are loaded", () => {
  const before = { ...snapshot([answer("complete", "Newest.", "m3")]), messages_before: 2 };
  const loaded = [answer("complete", "Old.", "m1"), answer("complete", "Older.", "m2"), ...before.messages];
  expect(announcementOf(before, { ...snapshot(loaded), messages_before: 0 })).toBeNull();
});
