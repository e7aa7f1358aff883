import { describe, expect, it } from "vitest";
import { OutcomeUnknown, throwAfterCommit } from "@colloquy/engine/internal/core/errors";
import { storeFull, storeUnavailable, storeUncertain } from "@colloquy/engine/internal/store/unavailable";
import { readOnlyAnswer } from "./only-answer.ts";

/** Returns the response to a failure of the service. */
function answerOf({ status, detail }: { readonly status: number; readonly detail: string }) {
  return { status, body: JSON.stringify({ status, detail }) };
}

function afterCommit(error: unknown): OutcomeUnknown {
  try {
    throwAfterCommit(error);
  } catch (thrown) {
    if (thrown instanceof OutcomeUnknown) return thrown;
    throw thrown;
  }
}

describe("the only response to a message", () => {
  it("says that the message is stored", () => {
    expect(readOnlyAnswer({ status: 200, body: "{}" })).toBe("shown");
    expect(readOnlyAnswer(answerOf(afterCommit(storeUnavailable(null))))).toBe("stored");
  });

  it("says that the message is not stored", () => {
    expect(readOnlyAnswer(answerOf(storeUnavailable(null)))).toBe("unchanged");
    expect(readOnlyAnswer({ status: 429, body: "" })).toBe("refused");
  });

  it("leaves the outcome open", () => {
    expect(readOnlyAnswer(answerOf(storeUncertain(null)))).toBe("unknown");
    expect(readOnlyAnswer(null)).toBe("unknown");
  });

  it("is not allowed for a chat", () => {
    expect(readOnlyAnswer({ status: 500, body: "" })).toBe("wrong");
    expect(readOnlyAnswer({ status: 409, body: "" })).toBe("wrong");
    expect(readOnlyAnswer(answerOf(storeFull(null)))).toBe("wrong");
  });
});
