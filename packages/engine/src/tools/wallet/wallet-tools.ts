// The wallet tools of an App (contract section 4). Other Apps never load this; viem is loaded with the first
// call.

import type { JSONSchema7 } from "@ai-sdk/provider";
import { z } from "zod";
import type { ActionRequest } from "../../core/action.ts";
import type { WalletSettings } from "../../core/app-settings.ts";
import { loadOnce } from "../../core/load-once.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Tool, ToolTurn } from "../../core/ports/driven/tool.ts";
import { createWalletInputs } from "./wallet-inputs.ts";

/**
 * Creates the tools that read chains and ask the user's wallet. The person's decision is the result of a
 * request, so the `execute` of a request runs only if `ask` returned nothing, and then reports the problem of
 * the request.
 */
export function createWalletTools(settings: WalletSettings, clock: Clock): readonly Tool[] {
  const inputs = createWalletInputs(settings.chains);
  const load = loadOnce(async () => (await import("./wallet-calls.ts")).createWalletCalls(settings, clock));
  return [
    reading(
      "wallet_balance",
      "Balance of a wallet",
      "Tells how much of the chain's own currency (such as ETH) an address has.",
      inputs.balance,
      async (...call) => (await load()).balance(...call),
    ),
    reading(
      "wallet_token_balance",
      "Token balance of a wallet",
      "Tells how much of an ERC-20 token an address has.",
      inputs.tokenBalance,
      async (...call) => (await load()).tokenBalance(...call),
    ),
    reading(
      "wallet_token_info",
      "Facts about a token",
      "Tells an ERC-20 token's name, symbol, decimals and total supply.",
      inputs.token,
      async (...call) => (await load()).tokenInfo(...call),
    ),
    reading(
      "wallet_ens_name",
      "Name of an address",
      "Looks up the address of an ENS name, or the ENS name of an address.",
      inputs.ensName,
      async (...call) => (await load()).ensName(...call),
    ),
    reading(
      "wallet_estimate_gas",
      "Cost of a transaction",
      "Estimates the gas and the fee of a transaction, and tells why it would fail. Sends nothing.",
      inputs.gas,
      async (...call) => (await load()).estimateGas(...call),
    ),
    asking(
      "wallet_request_transaction",
      "Transaction",
      "Asks the user to send a transaction with their wallet, and answers its hash once they have. Show the user what it does before.",
      inputs.transaction,
      async (...call) => (await load()).transaction(...call),
    ),
    asking(
      "wallet_request_signature",
      "Signature",
      "Asks the user to sign EIP-712 typed data with their wallet, and answers the signature.",
      inputs.signature,
      async (...call) => (await load()).signature(...call),
    ),
  ];
}

type Run<Input, Output> = (input: Input, turn: ToolTurn, signal: AbortSignal) => Promise<Output>;

function reading<Input>(
  name: string,
  title: string,
  description: string,
  schema: z.ZodType<Input>,
  run: Run<Input, unknown>,
): Tool {
  return {
    ...describe(name, title, description, schema),
    execute: async (input, { turn, signal }) => await run(readInput(schema, input), turn, signal),
  };
}

function asking<Input>(
  name: string,
  title: string,
  description: string,
  schema: z.ZodType<Input>,
  prepare: Run<Input, ActionRequest>,
): Tool {
  return {
    ...describe(name, title, description, schema),
    async ask(input, turn) {
      try {
        return await prepare(readInput(schema, input), turn, new AbortController().signal);
      } catch {
        // Asks for nothing. The call that follows reports the error to the model.
        return null;
      }
    },
    async execute(input, { turn, signal }) {
      await prepare(readInput(schema, input), turn, signal);
      throw new Error("The user could not be asked because of a temporary failure. Call the tool again.");
    },
  };
}

function describe(
  name: string,
  title: string,
  description: string,
  schema: z.ZodType,
): Omit<Tool, "execute"> {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { target: "draft-7", io: "input" });
  // All tools only read. The service never executes a request, so after a crash it only repeats its checks.
  return { name, title, description, inputSchema: inputSchema as JSONSchema7, effect: "read" };
}

function readInput<Input>(schema: z.ZodType<Input>, input: unknown): Input {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new TypeError(`The input is invalid: ${z.prettifyError(result.error)}`);
}
