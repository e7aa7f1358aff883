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

it("an answer is told when it begins and when it is whole, and not in between", () => {
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

it("an answer that was there at first sight is no news", () => {
  expect(announcementOf(null, snapshot([answer("complete")]))).toBeNull();
});

it("one that is there at once is told at once, and a long one in part", () => {
  expect(announcementOf(snapshot([]), snapshot([answer("complete")]))).toContain("Hello there.");
  const told = announcementOf(snapshot([]), snapshot([answer("complete", "word ".repeat(1_000))]));
  expect(told?.length).toBeLessThan(450);
  expect(told).toMatch(/… and more\.$/);
});

it.each([
  ["interrupted", "The answer was stopped."],
  ["failed", "The assistant could not finish this answer."],
] as const)("one that was %s is told to be", (status, told) => {
  expect(announcementOf(snapshot([answer("streaming")]), snapshot([answer(status)]))).toBe(told);
});

it("what is asked is told once", () => {
  const [before, after] = [snapshot([answer("streaming")]), snapshot([answer("streaming")], [QUESTION])];
  expect(announcementOf(before, after)).toBe("The assistant asks: Which one?");
  expect(announcementOf(after, after)).toBeNull();
});

it("an answer that ends while the next one begins is told, and so is the beginning", () => {
  const before = snapshot([answer("streaming", "The an")]);
  const after = snapshot([answer("complete", "The answer is 84."), answer("streaming", "", "m2")]);
  expect(announcementOf(before, after)).toBe(
    "The assistant said: The answer is 84. The assistant is answering.",
  );
});

it("everything that is asked at once is told", () => {
  const other: PendingAction = { ...QUESTION, id: "a2", request: { question: "And how?", choices: [] } };
  const before = snapshot([answer("streaming")]);
  expect(announcementOf(before, snapshot([answer("streaming")], [QUESTION, other]))).toBe(
    "The assistant asks: Which one? The assistant asks: And how?",
  );
});
