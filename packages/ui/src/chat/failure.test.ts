import { ColloquyError } from "@colloquy/client";
import { describe, expect, it } from "vitest";
import { type Failure, failureOf, failureOfMessage, foundIn, withFailure, withoutSent } from "./failure.ts";

it("states what failed, and why", () => {
  const error = new ColloquyError("The service cannot be reached.", { code: "network_failed" });
  expect(failureOf("It was not removed", error)).toEqual({
    sentence: "It was not removed. The service cannot be reached.",
    needsKey: false,
  });
  expect(failureOf("It was not renamed", "odd").sentence).toBe("It was not renamed.");
});

it("states when to try again after a rate limit", () => {
  const error = new ColloquyError("Ten messages wait already.", {
    code: "queue_full",
    status: 429,
    retryAfter: 7,
  });
  expect(failureOf("Not sent", error).sentence).toBe(
    "Not sent. Ten messages wait already. Try again in 7 s.",
  );
});

it.each(["app_key_invalid", "app_forbidden"])("%s asks for a key", (code) => {
  expect(failureOf("Not sent", new ColloquyError("No.", { code, status: 401 })).needsKey).toBe(true);
});

it.each([
  ["network_failed", 0, false],
  ["timeout", 0, false],
  ["answer_invalid", 0, false],
  ["outcome_unknown", 503, false],
  ["http_error", 502, false],
  ["rate_limited", 429, true],
])(
  "a message may have been sent if it failed with %s %i, where the outcome is unknown",
  (code, status, isAgain) => {
    const { sentence } = failureOfMessage(new ColloquyError("No.", { code, status }), { isAgain, text: "x" });
    expect(sentence).toBe(
      "Your message may have been sent. No. Check the conversation before you send it again.",
    );
  },
);

it("says that a message was not sent if the service rejected it", () => {
  const error = new ColloquyError("No.", { code: "message_too_long", status: 400 });
  expect(failureOfMessage(error, { isAgain: false, text: "x" }).sentence).toBe(
    "Your message was not sent. No.",
  );
});

describe("a message that may have been sent", () => {
  const lost = new ColloquyError("No.", { code: "network_failed", status: 0 });
  const failed = (text: string, after?: string | null) =>
    failureOfMessage(lost, { isAgain: false, text, ...(after !== undefined && { after }) });
  const question = { id: "1", sender: "user", content: "Yes" } as const;
  const answer = { id: "2", sender: "agent", content: "Yes" } as const;

  it.each([
    ["shown after the message was sent", "2", [question, answer, { ...question, id: "3" }], true],
    ["the first of its conversation", null, [question], true],
    ["shown before it was sent", "2", [question, answer], false],
    ["the text of an answer", "1", [question, answer], false],
    ["sent to a conversation whose newest message was removed", "0", [question], false],
    ["sent before a reload of the page", undefined, [question], false],
  ] as const)("%s (after %s): was found in %o: %s", (_which, after, shown, isFound) => {
    expect(foundIn(shown, [failed("Yes", after)], [])).toHaveLength(isFound ? 1 : 0);
  });

  it("removes its failure, unless the failure includes another message", () => {
    const failures = [failed("Yes", null), failed("No", null)].reduce<readonly Failure[]>(withFailure, []);
    expect(failures).toHaveLength(1);
    const rest = withoutSent(failures, foundIn([question], failures, []));
    expect(rest).toMatchObject([{ perhapsSent: [{ text: "No" }] }]);
    expect(withoutSent(rest, rest[0]!.perhapsSent!)).toEqual([]);
  });

  const next = (id: string) => ({ id, sender: "user", content: "Yes" }) as const;
  const sent = (after?: string | null) => ({ text: "Yes", ...(after !== undefined && { after }) });
  it.each([
    ["one of two with the same text", [answer, next("3")], ["2", "2"], [], 1],
    ["both of two with the same text", [answer, next("3"), next("4")], ["2", "2"], [], 2],
    ["both if one was written after the other was stored", [answer, next("3"), next("4")], ["2", "3"], [], 2],
    ["none if another one was sent", [answer, next("3")], ["2"], [sent("2")], 0],
    ["one, besides another sent message", [answer, next("3"), next("4")], ["2"], [sent("2")], 1],
    ["one written after another sent message", [answer, next("3"), next("4")], ["3"], [sent("2")], 1],
    ["none if another was sent at an unknown place", [question, answer, next("3")], ["2"], [sent()], 0],
    ["none if the place of another was removed", [question, answer, next("3")], ["2"], [sent("0")], 0],
    ["one, besides another text", [answer, next("3")], ["2"], [{ text: "No", after: "2" }], 1],
  ] as const)("is matched with at most one shown message: %s", (_which, shown, after, others, count) => {
    const failures = after.map((id) => failed("Yes", id)).reduce<readonly Failure[]>(withFailure, []);
    expect(foundIn(shown, failures, others)).toHaveLength(count);
  });
});

it("appends a new failure to earlier ones, once", () => {
  const [one, two, oneAgain] = ["1", "2", "1"].map((sentence) => ({ sentence, needsKey: false }));
  expect(withFailure(withFailure([one!], two!), oneAgain!)).toEqual([two, one]);
});
