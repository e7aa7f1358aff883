import type { Action } from "@colloquy/protocol";
import { expect, it } from "vitest";
import { isWalletAction, readResult } from "./wallet-actions.ts";

const ASKED: Action = {
  id: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11",
  kind: "wallet_signature",
  tool: "sign",
  call_id: "c1",
  created_at: "2026-11-20T12:00:00.000Z",
  expires_at: "2026-11-20T13:00:00.000Z",
  status: "pending",
  result: null,
  resolved_at: null,
  request: { typed_data: {} },
};

it.each([
  ["a cut surrogate pair", `${"a".repeat(999)}\u{1F600}`, `${"a".repeat(999)}\uFFFD`],
  ["a lone surrogate", "no\uD83D", "no\uFFFD"],
  ["blanks around it", `  ${"a".repeat(1_000)}  `, "a".repeat(1_000)],
  ["only blanks", " \n", null],
  ["another type", 7, null],
])("a rejection whose reason has %s is a denial with a valid comment", (_what, reason, comment) => {
  if (!isWalletAction(ASKED)) throw new Error("The action is not of a wallet.");
  const answer = readResult(ASKED, { status: "rejected", reason });
  expect(answer).toEqual({ decision: "deny", result: null, comment });
});
