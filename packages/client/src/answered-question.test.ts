import { expect, it } from "vitest";
import { message } from "../test/snapshots.ts";
import { answeredQuestion } from "./answered-question.ts";
import type { Message } from "./wire.ts";

const from =
  (sender: Message["sender"]) =>
  (content: string, turn?: number): Message =>
    message(content, sender, content, turn === undefined ? {} : { turn });
const user = from("user");
const agent = from("agent");

/** Returns the question that each message answers; `null` for a message without one. */
const questions = (messages: readonly Message[]): readonly (string | null)[] =>
  messages.map((_, index) => answeredQuestion(messages, index)?.content ?? null);

it("returns the question if other messages are between it and the answer", () => {
  const messages = [
    user("Q1", 1),
    agent("A1", 1),
    user("Q2", 2),
    user("Q3", 3),
    agent("A2", 2),
    agent("A3", 3),
  ];
  expect(questions(messages)).toEqual([null, null, null, null, "Q2", "Q3"]);
});

it("returns null if a message has no turn, its question is missing, or there is no message", () => {
  expect(questions([user("Q1"), user("Q2"), agent("A1"), agent("A2")])).toEqual([null, null, null, null]);
  expect(questions([user("Q1"), user("Q2", 2), agent("A1")])).toEqual([null, null, null]);
  expect(questions([agent("A1", 1)])).toEqual([null]);
  expect(answeredQuestion([], 0)).toBeNull();
});
