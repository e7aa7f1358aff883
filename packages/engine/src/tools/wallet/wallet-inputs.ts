// Input schemas of the wallet tools, for the model and for checking its calls. Free of viem, so that an App
// without a wallet never loads it.

import { z } from "zod";
import type { ChainSettings } from "../../core/app-settings.ts";

export type WalletInputs = ReturnType<typeof createWalletInputs>;
export type TransactionInput = z.infer<WalletInputs["transaction"]>;

export function createWalletInputs(chains: readonly ChainSettings[]) {
  const ids = chains.map(({ id }) => id);
  const chain_id = z
    .literal(ids)
    .optional()
    .describe(
      `The chain: ${listChains(chains)}. Without it the one that the user's wallet is on, else ${ids[0]}.`,
    );
  const owner = address("An address. Without it the user's own.").optional();
  const token = address("The address of the token's contract.");
  return {
    balance: z.strictObject({ address: owner, chain_id }),
    token: z.strictObject({ token, chain_id }),
    tokenBalance: z.strictObject({ token, address: owner, chain_id }),
    ensName: z.strictObject({
      name: text(/^.{1,255}$/u, 'An ENS name, for instance "vitalik.eth", to get its address.').optional(),
      address: address("An address, to get its name. Without both, the user's own.").optional(),
      chain_id: z
        .literal(ids)
        .optional()
        .describe("The chain whose ENS is asked. Without it one that has ENS."),
    }),
    gas: z.strictObject({
      ...transactionFields,
      chain_id,
      from: address("Who sends it. Without it the user.").optional(),
    }),
    transaction: z.strictObject({ ...transactionFields, chain_id }),
    signature: z.strictObject({ typed_data: typedData }),
  };
}

function text(pattern: RegExp, description: string) {
  return z.string().regex(pattern).describe(description);
}

/** Schema of an address. The checksum is checked later, where the error message can say what to do. */
function address(description: string) {
  return text(/^0x[0-9a-fA-F]{40}$/, description);
}

const transactionFields = {
  to: address("Who receives it: a person's address or a contract's."),
  value_ether: text(
    /^\d{1,60}(\.\d{1,36})?$/,
    'How much of the chain\'s currency to send, in whole units as decimal text: "0.5". Not beside value_wei.',
  ).optional(),
  value_wei: text(
    /^\d{1,78}$/,
    'The same in the smallest unit: "500000000000000000". Without both, nothing is sent.',
  ).optional(),
  data: text(/^0x([0-9a-fA-F]{2})*$/, "What a contract is called with, hexadecimal.").optional(),
};

const typedData = z
  .looseObject({
    types: z.record(z.string(), z.array(z.unknown())),
    primaryType: z.string(),
    domain: z.record(z.string(), z.unknown()).describe("Its chainId is one of the chains."),
    message: z.record(z.string(), z.unknown()),
  })
  .describe("EIP-712 typed data.");

/** Formats chains as "1 (Ethereum), 10 (Optimism)". */
export function listChains(chains: readonly ChainSettings[]): string {
  return chains.map(({ id, name }) => `${id} (${name})`).join(", ");
}

/** Returns the error for a model that names a chain which is not configured. */
export function unknownChain(chainId: number, chains: readonly ChainSettings[]): string {
  return `The chain ${chainId} is not configured. There are: ${listChains(chains)}.`;
}
