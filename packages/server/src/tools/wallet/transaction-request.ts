// A transaction that the user's wallet is asked to send: checked as far as this side can, so that a person is never asked for what
// cannot be sent or would surely fail.

import { isHex, size, zeroAddress, type Hex } from "viem";
import type { ActionRequest } from "../../core/action.ts";
import type { ToolTurn } from "../../core/ports/tool.ts";
import { amountOf, readValue } from "./amounts.ts";
import { estimateGas, readBalance, type TransactionFields } from "./chain-reads.ts";
import type { Chain } from "./chains.ts";
import { RpcUnavailable } from "./rpc-failures.ts";
import { addressOfUser, readAddress } from "./users-wallet.ts";
import type { TransactionInput } from "./wallet-inputs.ts";

const maximumDataBytes = 16 * 1_024;

export type TransactionRequest = Extract<ActionRequest, { kind: "wallet_transaction" }>;

/** What an input describes. @throws RangeError that says which field is wrong. */
export function readTransaction(input: TransactionInput, chain: Chain): Omit<TransactionFields, "from"> {
  const to = readAddress(input.to, "to");
  if (to === zeroAddress) throw new RangeError("to is the zero address: what is sent there is lost.");
  return { to, value: readValue(input, chain.currency.decimals), data: readData(input.data) };
}

/**
 * What the user is asked. The transaction is tried before, from the address that the user is said to have; it is not when that is unknown
 * or the chain's server does not answer, because the wallet tries it again.
 *
 * @throws Error with the reason when the transaction is wrong or would fail.
 */
export async function prepareTransaction(
  input: TransactionInput,
  chain: Chain,
  turn: ToolTurn,
): Promise<TransactionRequest> {
  const fields = readTransaction(input, chain);
  const from = addressOfUser(turn)?.address ?? null;
  if (from !== null) {
    const problem = await foreseeProblem(chain, { ...fields, from });
    if (problem !== null)
      throw new Error(`The user was not asked, because this transaction would fail: ${problem}.`);
  }
  const { to, value, data } = fields;
  return { kind: "wallet_transaction", request: { to, value: value.toString(), data, chain_id: chain.id } };
}

async function foreseeProblem(
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
