import { describe, expect, it } from "vitest";
import { isActionResult } from "./action-results.ts";

const hash = (digits: number) => ({ transaction_hash: `0x${"aF".repeat(digits / 2)}` });
const signature = (bytes: number) => ({ signature: `0x${"aF".repeat(bytes)}` });
const answer = (length: number) => ({ answer: "a".repeat(length) });

const files = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `5d1f8f2e-0a53-4c0e-9b1a-7f0c2d8e6${String(index).padStart(3, "a")}`,
  );

describe("isActionResult", () => {
  it.each([
    ["approval", null],
    ["wallet_transaction", hash(64)],
    ["wallet_signature", signature(1)],
    ["wallet_signature", signature(65)],
    ["wallet_signature", signature(8_192)],
    ["question", answer(1)],
    ["question", answer(4_096)],
    ["client_tool", { output: null }],
    ["client_tool", { output: { deep: [1] } }],
    ["client_tool", { error: "no camera" }],
    ["client_tool", { output: 1, attachments: [] }],
    ["client_tool", { output: null, attachments: files(10) }],
    ["client_tool", { output: 1, attachments: files(1).map((id) => id.toUpperCase()) }],
  ] as const)("accepts, for %s: %o", (kind, result) => {
    expect(isActionResult(kind, result)).toBe(true);
  });

  it.each([
    ["approval", {}],
    ["approval", "yes"],
    ["approval", undefined],
    ["wallet_transaction", null],
    ["wallet_transaction", {}],
    ["wallet_transaction", hash(62)],
    ["wallet_transaction", hash(66)],
    ["wallet_transaction", { transaction_hash: "a".repeat(66) }],
    ["wallet_transaction", { transaction_hash: `${hash(64).transaction_hash}\n` }],
    ["wallet_transaction", { transaction_hash: [hash(64).transaction_hash] }],
    ["wallet_transaction", { ...hash(64), more: 1 }],
    ["wallet_transaction", [hash(64).transaction_hash]],
    ["wallet_signature", signature(0)],
    ["wallet_signature", signature(8_193)],
    ["wallet_signature", { signature: "0xabc" }],
    ["wallet_signature", { signature: "0xzz" }],
    ["wallet_signature", { ...signature(65), answer: "a" }],
    ["wallet_signature", hash(64)],
    ["question", answer(0)],
    ["question", answer(4_097)],
    ["question", { answer: 5 }],
    ["question", { ...answer(1), more: null }],
    ["question", ["a"]],
    ["question", "a"],
    ["client_tool", null],
    ["client_tool", {}],
    ["client_tool", { output: undefined }],
    ["client_tool", { error: "" }],
    ["client_tool", { error: 1 }],
    ["client_tool", { output: 1, error: "both" }],
    ["client_tool", { result: 1 }],
    ["client_tool", [1]],
    ["client_tool", { attachments: files(1) }],
    ["client_tool", { error: "x", attachments: files(1) }],
    ["client_tool", { output: 1, attachments: files(11) }],
    ["client_tool", { output: 1, attachments: [...files(1), files(1)[0]!.toUpperCase()] }],
    ["client_tool", { output: 1, attachments: "all" }],
    ["client_tool", { output: 1, attachments: [5] }],
    ["client_tool", { output: 1, attachments: ["../secret"] }],
    ["client_tool", { output: 1, attachments: null }],
  ] as const)("rejects, for %s: %o", (kind, result) => {
    expect(isActionResult(kind, result)).toBe(false);
  });
});
