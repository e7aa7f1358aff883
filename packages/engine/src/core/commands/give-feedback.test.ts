import { describe, expect, it } from "vitest";
import { DecidedSession } from "./testing/decided-session.ts";

const GOOD = { score: 1, comment: "Exact.", tags: ["fast"] } as const;
const NONE = { score: 0, comment: null, tags: [] } as const;

/** Returns a session with an answer that has ended, and the ids of its messages. */
function answered() {
  const one = new DecidedSession();
  const turn = one.start("hello");
  const [question = "", answer = ""] = one.messages.map(({ id }) => id);
  return { one, turn, question, answer };
}

describe("feedback", () => {
  it("is stored with the answer, announced and replaced, without changing `updatedAt`", () => {
    const { one, turn, answer } = answered();
    one.complete(turn, "Hi.");
    const { updatedAt } = one.session;
    expect(one.run("giveFeedback", { messageId: answer, ...GOOD })).toEqual({
      feedback: { ...GOOD, at: one.at },
    });
    expect(one.types.at(-1)).toBe("message_updated");
    expect(one.messages[1]).toMatchObject({ content: "Hi.", status: "complete", feedback: GOOD });
    one.run("giveFeedback", { messageId: answer, score: -1, comment: null, tags: [] });
    expect(one.messages[1]?.feedback).toEqual({ score: -1, comment: null, tags: [], at: one.at });
    expect(one.session.updatedAt).toBe(updatedAt);
  });

  it("is removed by a score of 0 without comment and tags", () => {
    const { one, turn, answer } = answered();
    one.complete(turn, "Hi.");
    one.run("giveFeedback", { messageId: answer, ...GOOD });
    expect(one.run("giveFeedback", { messageId: answer, ...NONE })).toEqual({});
    expect(one.messages[1]).not.toHaveProperty("feedback");
    const { head } = one.session;
    expect(one.run("giveFeedback", { messageId: answer, ...NONE })).toEqual({});
    expect(one.session.head).toBe(head);
  });

  it("is rejected for anything but a finished answer", () => {
    const { one, question, answer } = answered();
    expect(one.run("giveFeedback", { messageId: answer, ...GOOD })).toBe("answer_in_progress");
    expect(one.run("giveFeedback", { messageId: question, ...GOOD })).toBe("not_an_answer");
    expect(one.run("giveFeedback", { messageId: "other", ...GOOD })).toBe("message_not_found");
  });
});
