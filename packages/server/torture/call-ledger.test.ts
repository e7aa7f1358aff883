import type { Message, ToolResult } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { CallLedger, CLAIM_MS, DENIED, type CallOutcome } from "./call-ledger.ts";

const ONE: CallOutcome = { output: "one", is_error: false };
const TWO: CallOutcome = { output: "two", is_error: false };
const error = (output: string): CallOutcome => ({ output, is_error: true });

/** Returns a ledger in which client `a` holds the call `c` until the moment `CLAIM_MS`. */
function claimed(isRepeatable = false) {
  const ledger = new CallLedger();
  expect(ledger.grant("c", isRepeatable, "a", CLAIM_MS)).toBeNull();
  /** Sends an outcome that is acknowledged at the moment 5. */
  const decide = (token: string | null, outcome: CallOutcome, at = 1): string | null => {
    ledger.send("c", isRepeatable, token, outcome);
    return ledger.acknowledge("c", token, outcome, at, 5);
  };
  const problems = (outcome: CallOutcome | null, fields: Partial<Message> = {}, asked = 9): string[] =>
    ledger.problemsIn([answerWith(outcome, fields)], asked).map(([, problem]) => problem);
  return { ledger, decide, problems };
}

function answerWith(outcome: CallOutcome | null, fields: Partial<Message>): Message {
  const result: ToolResult[] =
    outcome === null ? [] : [{ call_id: "c", name: "press", duration_ms: 1, ...outcome }];
  const created_at = "2026-11-20T00:00:00.000Z";
  const message = { sender: "agent", id: "m", content: "", created_at, status: "streaming" } as const;
  return { ...message, tool_results: result, ...fields };
}

describe("the claims of a call", () => {
  it("are of one client if the call is unsafe, whenever the other one was granted", () => {
    const { ledger } = claimed();
    expect(ledger.renew("c", "a", CLAIM_MS + 5)).toBeNull();
    expect(ledger.renew("c", "b", CLAIM_MS + 5)).toContain("another claim");
    expect(ledger.grant("c", false, "a", CLAIM_MS + 5)).toContain("the same claim");
    expect(ledger.grant("c", false, "b", 9 * CLAIM_MS)).toContain("two claims");
  });

  it("follow each other if it is repeatable", () => {
    const { ledger } = claimed(true);
    expect(ledger.renew("c", "a", CLAIM_MS + 5)).toBeNull();
    expect(ledger.grant("c", true, "b", 2 * CLAIM_MS + 5)).toBeNull();
    expect(ledger.grant("c", true, "d", 3 * CLAIM_MS + 4)).toContain("two claims");
  });

  it("are valid until they expire, for their client only", () => {
    const { ledger } = claimed();
    expect(["a", "b"].map((token) => ledger.holds("c", token, CLAIM_MS - 1))).toEqual([true, false]);
    expect(ledger.holds("c", "a", CLAIM_MS)).toBe(false);
  });

  it("end with the call", () => {
    const { ledger, decide } = claimed(true);
    expect(decide("a", ONE)).toBeNull();
    expect(ledger.grant("c", true, "b", 9 * CLAIM_MS)).toContain("after the call had ended");
  });
});

describe("the decision of a call", () => {
  it("is of the client that holds it, and no other", () => {
    expect(claimed().decide("made up", ONE)).toContain("without the claim");
    expect(claimed().decide(null, DENIED)).toContain("without the claim");
    expect(claimed().decide(null, DENIED, CLAIM_MS)).toContain("without the claim");
    expect(claimed(true).decide(null, DENIED)).toContain("without the claim");
    expect(claimed(true).decide(null, DENIED, CLAIM_MS)).toBeNull();
  });

  it("is made once, and may be repeated", () => {
    const { ledger, decide } = claimed();
    ledger.send("c", false, "a", DENIED);
    expect(decide(null, DENIED)).toBeNull();
    expect(decide("a", DENIED)).toBeNull();
    expect(decide("a", ONE)).toContain("accepted after");
  });
});

describe("the result of a call", () => {
  it("is the acknowledged one, in every snapshot requested later", () => {
    const { decide, problems } = claimed();
    decide("a", ONE);
    expect(problems(ONE)).toEqual([]);
    expect(problems(TWO)).toEqual([expect.stringContaining("two")]);
    expect(problems(error("outcome unknown"))).toHaveLength(1);
    expect(problems(null)).toEqual(["has lost its acknowledged result"]);
    expect(problems(null, {}, 5)).toEqual([]);
  });

  it("is one that was sent under the claim, or unknown, if none was acknowledged", () => {
    const { ledger, problems } = claimed();
    ledger.send("c", false, "a", ONE);
    ledger.send("c", false, "made up", TWO);
    expect([ONE, error("outcome unknown")].flatMap((outcome) => problems(outcome))).toEqual([]);
    for (const outcome of [TWO, DENIED, error("interrupted")]) expect(problems(outcome)).toHaveLength(1);
  });

  it("is never unknown if the call is repeatable", () => {
    const { problems } = claimed(true);
    expect(problems(error("interrupted"))).toEqual([]);
    expect(problems(error("outcome unknown"))).toHaveLength(1);
  });

  it("is given to the model", () => {
    const { decide, problems } = claimed();
    decide("a", ONE);
    const complete = (content: string) => problems(ONE, { status: "complete", content });
    expect(complete("The tool press answered: one.")).toEqual([]);
    expect(complete("The tool press answered: two.")).toHaveLength(1);
  });

  it("is forgotten with its message", () => {
    const { ledger, decide } = claimed();
    decide("a", ONE);
    const call = { id: "c", name: "press", arguments: {}, status: "complete" } as const;
    ledger.forget([{ ...answerWith(ONE, {}), tool_calls: [call] }]);
    expect(ledger.problemsIn([], 9)).toEqual([]);
  });
});
