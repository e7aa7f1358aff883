import { ColloquyError } from "@colloquy/client";
import { expect, it } from "vitest";
import { failureOf, failureOfMessage, withFailure } from "./failure.ts";

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
    const { sentence } = failureOfMessage(new ColloquyError("No.", { code, status }), { isAgain });
    expect(sentence).toBe(
      "Your message may have been sent. No. Look at the conversation before you send it again.",
    );
  },
);

it("a message that the service refused was not sent", () => {
  const error = new ColloquyError("No.", { code: "message_too_long", status: 400 });
  expect(failureOfMessage(error, { isAgain: false }).sentence).toBe("Your message was not sent. No.");
});

it("a new failure is added to the earlier ones, once", () => {
  const [one, two, oneAgain] = ["1", "2", "1"].map((sentence) => ({ sentence, needsKey: false }));
  expect(withFailure(withFailure([one!], two!), oneAgain!)).toEqual([two, one]);
});
