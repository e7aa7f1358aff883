// What the assistant asks, in words, and what a person's answer to it means.

import type { Decision } from "@colloquy/client";
import type { PendingAction } from "@colloquy/protocol";
import { isActionResult } from "@colloquy/protocol/action-results";
import { harmlessLine, harmlessText, visibleJson } from "../harmless-text.ts";

export interface AskedAction {
  /** What it is about; nothing in it drives a terminal or hides. */
  readonly explanation: string;
  readonly prompt: string;
}

export function askedAction(action: PendingAction): AskedAction {
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
    case "wallet_transaction": {
      const { to, value, data, chain_id: chain } = action.request;
      const call = visibleJson({ chain_id: chain, to, value, data });
      return {
        explanation: `The assistant wants you to send this transaction with your wallet (value in wei): ${call}`,
        prompt: "Its hash when it is sent, or n: ",
      };
    }
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

/** What the answer decides, or a sentence about what is wrong with it. An empty answer never decides. */
export function readDecision(action: PendingAction, answer: string): Decision | { readonly problem: string } {
  const text = answer.trim();
  if (action.kind === "question") return readAnswer(action.request.choices, text);
  if (/^(?:n|no|deny)$/i.test(text)) return { decision: "deny" };
  switch (action.kind) {
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
  return { problem: text === "" ? "Say something, or /deny." : "An answer has at most 4,096 characters." };
}
