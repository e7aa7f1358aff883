// Requests to a chain whose answers are checked: an RPC server is believed about values, never about their types.

import { numberToHex, type Address, type Hex } from "viem";
import type { Chain } from "./chains.ts";
import { revertReason } from "./revert-reason.ts";
import { isHexBytes } from "./rpc-endpoint.ts";
import { RpcRefusal, RpcUnavailable } from "./rpc-failures.ts";

/** What became of a call: bytes or an estimate, or the reason why the chain refuses it. */
export type Outcome<Value> =
  | { readonly reverted: false; readonly value: Value }
  | { readonly reverted: true; readonly reason: string };

export interface TransactionFields {
  readonly from: Address | null;
  readonly to: Address;
  readonly value: bigint;
  readonly data: Hex;
}

/** In wei. */
export async function readBalance(chain: Chain, address: Address): Promise<bigint> {
  return readQuantity(chain, await request(chain, "eth_getBalance", [address, "latest"]));
}

/** In wei for one unit of gas. */
export async function readGasPrice(chain: Chain): Promise<bigint> {
  return readQuantity(chain, await request(chain, "eth_gasPrice", []));
}

export async function hasCode(chain: Chain, address: Address): Promise<boolean> {
  return readBytes(chain, await request(chain, "eth_getCode", [address, "latest"])) !== "0x";
}

/** Reads a contract; with an address that has no code the chain answers no bytes. */
export async function callContract(chain: Chain, to: Address, data: Hex): Promise<Outcome<Hex>> {
  return await settle(async () =>
    readBytes(chain, await request(chain, "eth_call", [{ to, data }, "latest"])),
  );
}

/** Units of gas that a transaction would take, or why it would fail. */
export async function estimateGas(
  chain: Chain,
  { from, to, value, data }: TransactionFields,
): Promise<Outcome<bigint>> {
  const fields = { ...(from === null ? {} : { from }), to, value: numberToHex(value), data };
  return await settle(async () => readQuantity(chain, await request(chain, "eth_estimateGas", [fields])));
}

async function settle<Value>(read: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { reverted: false, value: await read() };
  } catch (error) {
    if (!(error instanceof RpcRefusal) || !error.isReverted) throw error;
    return { reverted: true, reason: revertReason(error) };
  }
}

async function request(chain: Chain, method: string, params: readonly unknown[]): Promise<unknown> {
  try {
    return await chain.request(method, params);
  } catch (error) {
    if (!(error instanceof RpcRefusal) || error.isReverted) throw error;
    throw new RpcUnavailable(`The RPC server of ${chain.label} refuses ${method}: ${error.message}`);
  }
}

function readQuantity(chain: Chain, answer: unknown): bigint {
  if (typeof answer === "string" && /^0x[0-9a-fA-F]{1,64}$/.test(answer)) return BigInt(answer);
  throw new RpcUnavailable(`The RPC server of ${chain.label} answered with something that is not a number.`);
}

function readBytes(chain: Chain, answer: unknown): Hex {
  if (isHexBytes(answer)) return answer;
  throw new RpcUnavailable(`The RPC server of ${chain.label} answered with something that is not bytes.`);
}
