import { describe, expect, it } from "vitest";
import { parsePublicKey } from "./wallet.ts";

describe("a wallet address", () => {
  it("keeps its case, but for 0x addresses, which are compared without", () => {
    expect(parsePublicKey("So1anaKey")).toBe("So1anaKey");
    expect(parsePublicKey("0xAbCdEf")).toBe("0xabcdef");
    expect(parsePublicKey("0XABCDEF")).toBe("0xabcdef");
  });

  it("has 1 to 128 characters", () => {
    expect(parsePublicKey("")).toBeNull();
    expect(parsePublicKey("a".repeat(128))).toHaveLength(128);
    expect(parsePublicKey("a".repeat(129))).toBeNull();
    expect(parsePublicKey("👍".repeat(64))).toHaveLength(128);
    expect(parsePublicKey("👍".repeat(65))).toBeNull();
  });

  it.each([
    "a b",
    " a",
    "a\t",
    "a\u00a0b",
    "a\u3000",
    "a\0",
    "a\u0007",
    "\u200b",
    "a\u202eb",
    "\ud800",
    "a\n",
  ])("may be printed, and holds no white space: %j is none", (text) =>
    expect(parsePublicKey(text)).toBeNull(),
  );
});
