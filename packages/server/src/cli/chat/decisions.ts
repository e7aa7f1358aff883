// Describes actions to the user and parses the user's decisions.

import { visibleJson, wholeUnits, type Decision } from "@colloquy/client";
import type { PendingAction } from "@colloquy/protocol";
import { isActionResult } from "@colloquy/protocol/action-results";
import { harmlessLine, harmlessText } from "../terminal-text.ts";

/** Returns an explanation, with control and invisible characters escaped, and a prompt. */
export function describeAction(action: PendingAction) {
  switch (action.kind) {
    case "approval": {
      const { tool, input } = action.request;
      return {
        explanation: `The assistant wants to call ${harmlessLine(tool)} with ${visibleJson(input)}`,
        prompt: "Allow it? [y/n] ",
      };
    }
    case "question": {
      const { question, choices } = action.request;
      const listed = choices.map((choice, index) => `\n  ${index + 1}. ${harmlessLine(choice)}`).join("");
      return {
        explanation: `The assistant asks: ${harmlessText(question)}${listed}`,
        prompt: `${choices.length === 0 ? "Your answer" : "A number, or your answer"} (/deny for none): `,
      };
    }
    case "client_tool": {
      const { tool, input } = action.request;
      return {
        explanation: `The assistant waits for another client to run ${harmlessLine(tool)} with ${visibleJson(input)}`,
        prompt: "n to deny the call: ",
      };
    }
    case "wallet_transaction":
      return {
        explanation: explainTransaction(action.request),
        prompt: "Transaction hash once sent, or n: ",
      };
    case "wallet_signature":
      return {
        explanation: [
          `The assistant wants you to sign this typed data with your wallet: ${visibleJson(action.request.typed_data)}`,
          "A signature can move money as a transaction can. To sign, give all of it to your wallet (eth_signTypedData_v4), and paste the signature here.",
        ].join("\n"),
        prompt: "The signature (0x…), or n: ",
      };
  }
}

type Transaction = Extract<PendingAction, { kind: "wallet_transaction" }>["request"];

function explainTransaction({ chain_id, to, value, data, currency, call }: Transaction): string {
  const amount = currency && `${wholeUnits(value, currency.decimals)} ${currency.symbol}`;
  return [
    `The assistant wants you to send this transaction with your wallet (value in the smallest unit): ${visibleJson({ chain_id, to, value, data })}`,
    ...(amount === undefined ? [] : [`Value: ${visible(amount)}`]),
    ...(data === "0x" ? [] : explainCall(call)),
  ].join("\n");
}

function explainCall(call: Transaction["call"]): readonly string[] {
  if (call === undefined || call === null)
    return ["Data: an unknown call. Its effect cannot be shown here. Send it only if you know what it does."];
  return [
    `Data: reads as ${visible(call.function)}. What the contract does is up to the contract.`,
    ...call.arguments.map(
      ({ name, value, decimals }) => `  ${visible(name)}: ${visible(value)}${claimOf(value, decimals)}`,
    ),
  ];
}

/** Describes an amount by the decimals that its token reports; empty if the argument is not an amount. */
function claimOf(value: string, decimals: number | null | undefined): string {
  if (decimals === undefined) return "";
  if (decimals === null) return " in the token's smallest unit; the token does not report its decimals";
  return ` in the smallest unit: ${wholeUnits(value, decimals)} by the ${decimals} decimals that the token claims`;
}

function visible(text: string): string {
  return visibleJson(text).slice(1, -1);
}

/** Returns the decision, or a sentence that says what is wrong with the answer. An empty answer never decides. */
export function readDecision(action: PendingAction, answer: string): Decision | { readonly problem: string } {
  const text = answer.trim();
  if (action.kind === "question") return readAnswer(action.request.choices, text);
  if (/^(?:n|no|deny)$/i.test(text)) return { decision: "deny" };
  switch (action.kind) {
    case "client_tool":
      return { problem: "This tool runs in another client. Answer n to deny the call." };
    case "approval":
      if (/^(?:y|yes)$/i.test(text)) return { decision: "approve" };
      return { problem: "Answer y or n." };
    case "wallet_transaction": {
      const result = { transaction_hash: text };
      if (isActionResult(action.kind, result)) return { decision: "approve", result };
      return { problem: "A hash is 0x and 64 hexadecimal digits. Answer n if you do not send it." };
    }
    case "wallet_signature": {
      const result = { signature: text };
      if (isActionResult(action.kind, result)) return { decision: "approve", result };
      return { problem: "A signature is 0x and hexadecimal digits. Answer n if you do not sign it." };
    }
  }
}

function readAnswer(choices: readonly string[], text: string): Decision | { readonly problem: string } {
  if (text === "/deny") return { decision: "deny" };
  const chosen = /^\d{1,3}$/.test(text) ? choices[Number(text) - 1] : undefined;
  const result = { answer: chosen ?? text };
  if (isActionResult("question", result)) return { decision: "approve", result };
  return { problem: text === "" ? "Type an answer, or /deny." : "An answer has at most 4,096 characters." };
}
