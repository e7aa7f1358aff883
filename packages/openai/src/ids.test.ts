import { describe, expect, it } from "vitest";
import { actionRefId, parseActionRef, parseResponseId, responseId, sessionOfConversation } from "./ids.ts";

const SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
const ACTION = "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11";

describe("ids", () => {
  it.each([
    { session: SESSION, turn: 1, from: 0 },
    { session: SESSION, turn: 12, from: 3 },
  ])("round-trips the response %j", (ref) => {
    expect(parseResponseId(responseId(ref))).toEqual(ref);
  });

  it.each([
    "",
    "resp_",
    `resp_${SESSION}`,
    `resp_${SESSION}_0`,
    `resp_${SESSION}_1_0`,
    `resp_${SESSION}_1_1_1`,
  ])("rejects the malformed response id %j", (id) => {
    expect(parseResponseId(id)).toBeNull();
  });

  it("encodes session and action of a call in at most 64 characters that every client accepts", () => {
    for (const prefix of ["call", "mcpr"] as const) {
      const id = actionRefId(prefix, { session: SESSION, action: ACTION });
      expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(parseActionRef(id)).toEqual({ session: SESSION, action: ACTION });
    }
    expect(parseActionRef("call_abc")).toBeNull();
  });

  it("accepts conversation ids with and without the prefix", () => {
    expect(sessionOfConversation(`conv_${SESSION.toUpperCase()}`)).toBe(SESSION);
    expect(sessionOfConversation(SESSION)).toBe(SESSION);
    expect(sessionOfConversation("conv_1")).toBeNull();
  });
});
