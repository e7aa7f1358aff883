// Prepares a transaction for the user's wallet. It is validated first, so that a person is never asked to
// approve one that is invalid or would certainly fail.

import { isHex, size, zeroAddress, type Hex } from "viem";
import type { ActionRequest } from "../../core/action.ts";
import type { ToolTurn } from "../../core/ports/driven/tool.ts";
import { amountOf, readValue } from "./amounts.ts";
import { describeCall } from "./call-description.ts";
import { estimateGas, readBalance, type TransactionFields } from "./chain-reads.ts";
import type { Chain } from "./chains.ts";
import { RpcUnavailable } from "./rpc-failures.ts";
import { addressOfUser, readAddress } from "./users-wallet.ts";
import type { TransactionInput } from "./wallet-inputs.ts";

const maximumDataBytes = 16 * 1_024;

export type TransactionRequest = Extract<ActionRequest, { kind: "wallet_transaction" }>;

/** Parses the input of a transaction. @throws RangeError naming the invalid field. */
export function readTransaction(input: TransactionInput, chain: Chain): Omit<TransactionFields, "from"> {
  const to = readAddress(input.to, "to");
  if (to === zeroAddress) throw new RangeError("to is the zero address: what is sent there is lost.");
  return { to, value: readValue(input, chain.currency.decimals), data: readData(input.data) };
}

/**
 * Creates the request for the user. Simulates the transaction from the user's claimed address first; skips
 * this if the address is unknown or the RPC server fails, because the wallet simulates it again. `described`
 * is the same chain with a shorter time limit, for the description.
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
