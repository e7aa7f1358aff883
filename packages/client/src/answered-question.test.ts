import { expect, it } from "vitest";
import type { Message } from "./wire.ts";
import { answeredQuestion } from "./answered-question.ts";
import { message } from "../test/snapshots.ts";

const user = (content: string, turn?: number): Message => said("user", content, turn);
const agent = (content: string, turn?: number): Message => said("agent", content, turn);

function said(sender: Message["sender"], content: string, turn?: number): Message {
  return message(content, sender, content, turn === undefined ? {} : { turn });
}

const questions = (messages: readonly Message[]): readonly (string | undefined)[] =>
  messages.map((_, index) => answeredQuestion(messages, index)?.content);

it("returns the question of each answer that does not directly follow it", () => {
  const messages = [
    user("Q1", 1),
    agent("A1", 1),
    user("Q2", 2),
    user("Q3", 3),
    agent("A2", 2),
    agent("A3", 3),
  ];
  expect(questions(messages)).toEqual([undefined, undefined, undefined, undefined, "Q2", "Q3"]);
});

it("returns null if messages have no turn, or the question is missing", () => {
  expect(questions([user("Q1"), user("Q2"), agent("A1"), agent("A2")])).toEqual(Array(4).fill(undefined));
  expect(questions([user("Q1"), user("Q2", 2), agent("A1")])).toEqual(Array(3).fill(undefined));
  expect(questions([agent("A1", 1)])).toEqual([undefined]);
  expect(answeredQuestion([], 0)).toBeNull();
});
