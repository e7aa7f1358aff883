import { expect, it } from "vitest";
import { message, SESSION } from "../test/snapshots.ts";
import type { SessionUpdate } from "./fold.ts";
import { reasoningAfter } from "./live-reasoning.ts";

const piece = (step: number, offset: number, text: string, message_id = "m"): SessionUpdate => ({
  type: "reasoning_delta",
  session_id: SESSION,
  message_id,
  step,
  offset,
  text,
});
const after = (...updates: readonly SessionUpdate[]) => updates.reduce(reasoningAfter, null);

it("concatenates the pieces of each step", () => {
  const live = after(piece(1, 0, "The user "), piece(1, 9, "greets me."), piece(2, 0, "Now the answer."));
  const steps = [
    { step: 1, text: "The user greets me." },
    { step: 2, text: "Now the answer." },
  ];
  expect(live).toEqual({ messageId: "m", steps });
});

it("replaces a step that restarts, and drops the steps after it", () => {
  const live = after(piece(1, 0, "One."), piece(2, 0, "Two."), piece(1, 0, "Anew."));
  expect(live?.steps).toEqual([{ step: 1, text: "Anew." }]);
});

it("ignores a piece after a gap, and starts over at a piece of another answer", () => {
  const first = after(piece(1, 0, "One"));
  expect(reasoningAfter(first, piece(1, 9, "lost"))).toBe(first);
  expect(reasoningAfter(first, piece(1, 0, "Other", "n"))).toEqual({
    messageId: "n",
    steps: [{ step: 1, text: "Other" }],
  });
});

it("returns null once its answer is complete, and ignores other messages", () => {
  const live = after(piece(1, 0, "One"));
  const completed = (id: string): SessionUpdate => ({
    type: "message_completed",
    session_id: SESSION,
    message: message(id, "agent", "Done"),
  });
  expect(reasoningAfter(live, completed("n"))).toBe(live);
  expect(reasoningAfter(live, completed("m"))).toBeNull();
});
