// Prepares a transaction for the user's wallet. It is validated first, so that a person is never asked to
// approve one that is invalid or would certainly fail.

import { isHex, size, zeroAddress, type Hex, type Address } from "viem";
import type { ActionRequest, DescribedCall } from "../../core/action.ts";
import type { ToolTurn } from "../../core/ports/driven/tool.ts";
import { amountOf, readValue } from "./amounts.ts";
import { estimateGas, hasCode, readBalance, type Chain, type TransactionFields } from "./chains.ts";
import { RpcUnavailable } from "./rpc-failures.ts";
import { addressOfUser, readAddress } from "./users-wallet.ts";
import type { TransactionInput } from "./wallet-inputs.ts";
import { readKnownCall } from "./known-calls.ts";
import { readTokenDecimals } from "./token-contract.ts";

const maximumDataBytes = 16 * 1_024;

export type TransactionRequest = Extract<ActionRequest, { kind: "wallet_transaction" }>;

/** Parses the input of a transaction. @throws RangeError naming the invalid field. */
export function readTransaction(input: TransactionInput, chain: Chain): Omit<TransactionFields, "from"> {
  const to = readAddress(input.to, "to");
  if (to === zeroAddress) throw new RangeError("to is the zero address: anything sent there is lost.");
  return { to, value: readValue(input, chain.currency.decimals), data: readData(input.data) };
}

/**
 * Creates the request for the user. Simulates the transaction from the user's claimed address first. Skips
 * the simulation if the address is unknown or the RPC server fails, because the wallet simulates the
 * transaction again. `described` is the same chain with a shorter time limit, for the description.
 *
 * @throws Error with the reason if the transaction is invalid or would fail.
 */
export async function prepareTransaction(
  input: TransactionInput,
  { chain, described }: { readonly chain: Chain; readonly described: Chain },
  turn: ToolTurn,
): Promise<TransactionRequest> {
  const fields = readTransaction(input, chain);
  const { to, value, data } = fields;
  const description = describeCall(described, to, data);
  const from = addressOfUser(turn)?.address ?? null;
  if (from !== null) {
    const problem = await predictFailure(chain, { ...fields, from });
    if (problem !== null)
      throw new Error(`The user was not asked, because this transaction would fail: ${problem}.`);
  }
  const request = { to, value: value.toString(), data, chain_id: chain.id };
  const { symbol, decimals } = chain.currency;
  return {
    kind: "wallet_transaction",
    request: { ...request, currency: { symbol, decimals }, call: await description },
  };
}

async function predictFailure(
  chain: Chain,
  fields: TransactionFields & { readonly from: Hex },
): Promise<string | null> {
  try {
    const [balance, estimate] = await Promise.all([
      readBalance(chain, fields.from),
      estimateGas(chain, fields),
    ]);
    if (balance < fields.value) {
      const has = amountOf(balance, chain.currency);
      return `the user's wallet ${fields.from} has ${has.formatted} ${has.symbol} on ${chain.label}`;
    }
    return estimate.reverted ? estimate.reason : null;
  } catch (error) {
    if (error instanceof RpcUnavailable) return null;
    throw error;
  }
}

function readData(data = "0x"): Hex {
  if (!isHex(data) || data.length % 2 !== 0)
    throw new RangeError("data is not hexadecimal: 0x and an even number of digits.");
  if (size(data) > maximumDataBytes)
    throw new RangeError(`data has more than ${maximumDataBytes / 1_024} KiB.`);
  return data.toLowerCase() as Hex;
}

/** Maximum number of tokens per call whose decimals are looked up. Amounts of further tokens stay raw. */
const MAX_TOKENS = 4;

/**
 * Describes the call that `data` makes to `to`. Returns `null` for an unknown call, and if `to` has no code,
 * because such a call does nothing. Decimals are as each token reports them, `null` if the chain does not
 * respond in time. Never rejects.
 */
async function describeCall(chain: Chain, to: Address, data: Hex): Promise<DescribedCall | null> {
  const call = readKnownCall(to, data);
  if (call === null) return null;
  const tokens = [...new Set(call.arguments.flatMap(({ token }) => token ?? []))].slice(0, MAX_TOKENS);
  const [isContract, ...claims] = await Promise.all([
    // If the server does not respond, describe the bytes without decimals.
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
