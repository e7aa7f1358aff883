// Describes the contract call of a transaction to the person who approves it.

import type { Address, Hex } from "viem";
import type { DescribedCall } from "../../core/action.ts";
import { hasCode } from "./chain-reads.ts";
import type { Chain } from "./chains.ts";
import { readKnownCall } from "./known-calls.ts";
import { readTokenDecimals } from "./token-contract.ts";

/** Maximum number of tokens per call whose decimals are looked up; amounts of others stay raw. */
const MAX_TOKENS = 4;

/**
 * Describes the call that `data` makes to `to`. Returns `null` for an unknown call, and if `to` has no code,
 * because then the call does nothing. Decimals are each token's own claim, `null` if it does not answer in
 * time. Never rejects.
 */
export async function describeCall(chain: Chain, to: Address, data: Hex): Promise<DescribedCall | null> {
  const call = readKnownCall(to, data);
  if (call === null) return null;
  const tokens = [...new Set(call.arguments.flatMap(({ token }) => token ?? []))].slice(0, MAX_TOKENS);
  const [isContract, ...claims] = await Promise.all([
    // If the server does not answer, describe the bytes anyway.
    hasCode(chain, to).catch(() => true),
    ...tokens.map((token) => readTokenDecimals(chain, token).catch(() => null)),
  ]);
  if (!isContract) return null;
  const decimals = new Map(tokens.map((token, index) => [token, claims[index] ?? null]));
  return {
    function: call.signature,
    arguments: call.arguments.map(({ token, ...argument }) =>
      token === null ? argument : { ...argument, token, decimals: decimals.get(token) ?? null },
    ),
  };
}
