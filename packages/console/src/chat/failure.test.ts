import { ColloquyError } from "@colloquy/client";
import { expect, it } from "vitest";
import { failureOf } from "./failure.ts";

it("says what has failed, and why", () => {
  const error = new ColloquyError("The service cannot be reached.", { code: "network_failed" });
  expect(failureOf("Your message was not sent", error)).toEqual({
    sentence: "Your message was not sent. The service cannot be reached.",
    needsKey: false,
  });
  expect(failureOf("It was not renamed", "odd").sentence).toBe("It was not renamed.");
});

it("says when a limit lets one through again", () => {
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
