import { PendingAction } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { describeAction, readDecision } from "./decisions.ts";

const HASH = `0x${"a1".repeat(32)}`;
const SIGNATURE = `0x${"b2".repeat(65)}`;
const ADDRESS = `0x${"12".repeat(20)}`;

/** An action as the service sends it. */
function action(kind: PendingAction["kind"], request: object): PendingAction {
  const at = "2026-01-01T00:00:00.000Z";
  const facts = { id: "0a1b2c3d-1111-4222-8333-444455556666", call_id: "c", tool: "a_tool" };
  return PendingAction.parse({
    ...facts,
    kind,
    request,
    created_at: at,
    expires_at: at,
    claim_expires_at: null,
  });
}

const approval = action("approval", { tool: "transfer", input: { amount: 5 } });
const question = action("question", { question: "Which one?", choices: ["red", "green"] });
const openQuestion = action("question", { question: "Which one?", choices: [] });
const transaction = action("wallet_transaction", { to: ADDRESS, value: "5", data: "0x1234", chain_id: 1 });
const call = action("client_tool", { tool: "read_page", input: { page: 5 } });
const signature = action("wallet_signature", { typed_data: { message: { to: "Bob" } } });

describe("descriptions of actions", () => {
  it("contain everything that matters to the decision", () => {
    expect(describeAction(approval).explanation).toContain('transfer with {"amount":5}');
    expect(describeAction(question).explanation).toBe("The assistant asks: Which one?\n  1. red\n  2. green");
    expect(describeAction(question).prompt).toContain("A number, or your answer");
    expect(describeAction(openQuestion).prompt).toContain("Your answer");
    const { explanation } = describeAction(transaction);
    for (const fact of [ADDRESS, '"value":"5"', '"data":"0x1234"', '"chain_id":1'])
      expect(explanation).toContain(fact);
    expect(describeAction(signature).explanation).toContain('{"message":{"to":"Bob"}}\n');
    expect(describeAction(signature).explanation).toContain("eth_signTypedData_v4");
    expect(describeAction(call).explanation).toContain('runs read_page with {"page":5}');
  });

  it("explain a transaction and mark the token's own data as claims", () => {
    const explain = (more: object) =>
      describeAction(
        action("wallet_transaction", { to: ADDRESS, value: "5", data: "0x1234", chain_id: 1, ...more }),
      )
        .explanation.split("\n")
        .slice(1);
    const argument = { name: "amount", type: "uint256", value: "1500000", token: ADDRESS };
    const call = (decimals: number | null) => ({
      function: "approve(address spender, uint256 amount)",
      arguments: [
        { name: "spender", type: "address", value: "a\u202E\n" },
        { ...argument, decimals },
      ],
    });
    const currency = { symbol: "POL", decimals: 3 };
    expect(explain({ currency, call: call(6) })).toEqual([
      "Value: 0.005 POL",
      "Data: reads as approve(address spender, uint256 amount). What the contract does is up to the contract.",
      "  spender: a\\u202e\\n",
      "  amount: 1500000 in the smallest unit: 1.5 by the 6 decimals that the token claims",
    ]);
    expect(explain({ call: call(null) }).at(-1)).toBe(
      "  amount: 1500000 in the token's smallest unit; the token does not report its decimals",
    );
    for (const unknown of [{}, { call: null }])
      expect(explain(unknown)).toEqual([expect.stringMatching(/^Data: an unknown call\./)]);
    expect(explain({ data: "0x" })).toEqual([]);
  });

  it("escape every invisible character in what is approved or signed", () => {
    const hidden = "a\u200Bb\u202Ec\u0007d\u{E0041}";
    const written = "a\\u200bb\\u202ec\\u0007d\\udb40\\udc41";
    expect(
      describeAction(action("approval", { tool: "transfer", input: { to: hidden } })).explanation,
    ).toContain(written);
    expect(
      describeAction(action("wallet_signature", { typed_data: { message: { to: hidden } } })).explanation,
    ).toContain(written);
  });

  it("escape control characters and keep each choice on one line", () => {
    const asked = describeAction(
      action("question", { question: "\u001B[2JWhich\u202E?", choices: ["r\u0007ed\nand\u001B]52;c;x"] }),
    );
    expect(asked.explanation).toBe("The assistant asks: ␛[2JWhich\uFFFD?\n  1. r␇ed and␛]52;c;x");
    const hostile = { tool: "a\u001B]0;b\u0007\n\u202Ec", input: {} };
    expect(describeAction(action("approval", hostile)).explanation).toBe(
      "The assistant wants to call a␛]0;b␇ \uFFFDc with {}",
    );
  });
});

describe("readDecision", () => {
  it.each([
    [approval, "y", { decision: "approve" }],
    [approval, " YES ", { decision: "approve" }],
    [approval, "n", { decision: "deny" }],
    [approval, "No", { decision: "deny" }],
    [question, "2", { decision: "approve", result: { answer: "green" } }],
    [question, "3", { decision: "approve", result: { answer: "3" } }],
    [question, "0", { decision: "approve", result: { answer: "0" } }],
    [question, "blue", { decision: "approve", result: { answer: "blue" } }],
    [question, "n", { decision: "approve", result: { answer: "n" } }],
    [question, "/deny", { decision: "deny" }],
    [openQuestion, "1", { decision: "approve", result: { answer: "1" } }],
    [transaction, HASH, { decision: "approve", result: { transaction_hash: HASH } }],
    [transaction, "no", { decision: "deny" }],
    [signature, SIGNATURE, { decision: "approve", result: { signature: SIGNATURE } }],
    [signature, "deny", { decision: "deny" }],
    [call, ' {"title": "Tea"} ', { output: { title: "Tea" } }],
    [call, "null", { output: null }],
    [call, "n", { decision: "deny" }],
  ])("accepts an answer to $kind: %j", (asked, answer, decision) => {
    expect(readDecision(asked, answer)).toEqual(decision);
  });

  it.each([
    [approval, ""],
    [approval, "maybe"],
    [approval, "yn"],
    [approval, "not now"],
    [question, "  "],
    [question, "x".repeat(5_000)],
    [transaction, ""],
    [transaction, "y"],
    [transaction, HASH.slice(0, -1)],
    [signature, ""],
    [signature, "y"],
    [signature, "0xzz"],
    [call, ""],
    [call, "Tea"],
  ])("rejects an invalid answer to $kind with a reason", (asked, answer) => {
    expect(readDecision(asked, answer)).toEqual({ problem: expect.stringMatching(/^[A-Z].+\.$/) as string });
  });
});
