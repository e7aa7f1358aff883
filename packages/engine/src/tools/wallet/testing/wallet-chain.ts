// A Hardhat node with a token, and the wallet tools on it.

import { encodeAbiParameters, encodeFunctionData, erc20Abi, type Address, type Hex } from "viem";
import { ManualClock } from "../../../../../server/test/manual-clock.ts";
import { startLocalChain, type LocalChain } from "../../../../../server/test/local-chain.ts";
import { cannedContract, type CannedAnswer } from "./canned-contract.ts";
import { createWalletCaller, type WalletCaller } from "./wallet-caller.ts";

/** Total supply, owned by Alice. */
export const supply = 1_000_000n * 10n ** 18n;

export interface WalletChain {
  readonly chain: LocalChain;
  readonly wallet: WalletCaller;
  readonly alice: Address;
  readonly bob: Address;
  readonly token: Address;
  /** Deploys a contract with canned responses. */
  readonly deploy: (...answers: CannedAnswer[]) => Promise<Address>;
}

export async function startWalletChain(): Promise<WalletChain> {
  const chain = await startLocalChain();
  const [, alice, bob] = chain.accounts as readonly [Address, Address, Address];
  return {
    chain,
    wallet: createWalletCaller([chain.settings], new ManualClock()),
    alice,
    bob,
    token: await chain.deployToken("Test Gold", "TGLD", supply, alice),
    deploy: (...answers) => chain.deploy(cannedContract(answers)),
  };
}

/** Encodes a call of a token function without parameters. */
export const question = (functionName: "symbol" | "name" | "decimals" | "totalSupply"): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName });

export const number = (value: bigint): Hex => encodeAbiParameters([{ type: "uint256" }], [value]);
