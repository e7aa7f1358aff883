// The configured chains of an App, and requests with validated responses: an RPC server is trusted for
// values, but never for their types.

import { numberToHex, type Address, type Hex } from "viem";
import type { ChainSettings, WalletSettings } from "../../core/app-settings.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import { createRpcEndpoint, isHexBytes, type RpcRequest } from "./rpc-endpoint.ts";
import { revertReason, RpcRefusal, RpcUnavailable } from "./rpc-failures.ts";
import { unknownChain } from "./wallet-inputs.ts";

/** A chain for the duration of one call, whose signal aborts its requests. */
export interface Chain {
  readonly id: number;
  readonly name: string;
  /** Name in messages: "Ethereum (chain 1)". */
  readonly label: string;
  readonly currency: ChainSettings["currency"];
  readonly contracts: JsonObject | null;
  /** Rejects with `RpcUnavailable`, `RpcRefusal`, or the reason of the call's signal. */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
}

export interface Chains {
  readonly settings: readonly ChainSettings[];
  /** Opens a configured chain without sending a request. */
  open(chainId: number, signal: AbortSignal): Chain;
}

export function createChains(settings: WalletSettings, clock: Clock): Chains {
  const endpoints = new Map(settings.chains.map((chain) => [chain.id, createCheckedEndpoint(chain, clock)]));
  return {
    settings: settings.chains,
    open(chainId, signal) {
      const chain = settings.chains.find(({ id }) => id === chainId);
      const request = endpoints.get(chainId);
      if (chain === undefined || request === undefined)
        throw new RangeError(unknownChain(chainId, settings.chains));
      return {
        id: chain.id,
        name: chain.name,
        label: labelOf(chain),
        currency: chain.currency,
        contracts: chain.contracts,
        request: (method, params) => request(method, params, signal),
      };
    },
  };
}

function labelOf({ id, name }: ChainSettings): string {
  return `${name} (chain ${id})`;
}

/**
 * Verifies the server's chain id before the first request, because balances of another chain would be wrong.
 */
function createCheckedEndpoint(chain: ChainSettings, clock: Clock): RpcRequest {
  const label = labelOf(chain);
  const request = createRpcEndpoint({ url: chain.rpcURL, label, clock });
  let isRight = false;
  return async (method, params, signal) => {
    if (!isRight) {
      const answer = await request("eth_chainId", [], signal);
      if (typeof answer !== "string" || !/^0x[0-9a-f]{1,16}$/i.test(answer)) {
        throw new RpcUnavailable(`The RPC server of ${label} does not say which chain it serves.`);
      }
      if (BigInt(answer) !== BigInt(chain.id)) {
        throw new RpcUnavailable(
          `The RPC server of ${label} serves the chain ${BigInt(answer)}. The operator must correct its URL.`,
        );
      }
      isRight = true;
    }
    return await request(method, params, signal);
  };
}

/** The result of a call or an estimate, or the reason why it reverts. */
export type Outcome<Value> =
  | { readonly reverted: false; readonly value: Value }
  | { readonly reverted: true; readonly reason: string };

export interface TransactionFields {
  readonly from: Address | null;
  readonly to: Address;
  readonly value: bigint;
  readonly data: Hex;
}

/** Returns the balance in wei. */
export async function readBalance(chain: Chain, address: Address): Promise<bigint> {
  return readQuantity(chain, await request(chain, "eth_getBalance", [address, "latest"]));
}

/** Returns the price of one unit of gas in wei. */
export async function readGasPrice(chain: Chain): Promise<bigint> {
  return readQuantity(chain, await request(chain, "eth_gasPrice", []));
}

export async function hasCode(chain: Chain, address: Address): Promise<boolean> {
  return (await readCode(chain, address)) !== "0x";
}

export async function readCode(chain: Chain, address: Address): Promise<Hex> {
  return readBytes(chain, await request(chain, "eth_getCode", [address, "latest"]));
}

/** Calls a contract; an address without code returns no bytes. */
export async function callContract(chain: Chain, to: Address, data: Hex): Promise<Outcome<Hex>> {
  return await toOutcome(async () =>
    readBytes(chain, await request(chain, "eth_call", [{ to, data }, "latest"])),
  );
}

/** Estimates the gas of a transaction, or returns the reason why it would fail. */
export async function estimateGas(
  chain: Chain,
  { from, to, value, data }: TransactionFields,
): Promise<Outcome<bigint>> {
  const fields = { ...(from === null ? {} : { from }), to, value: numberToHex(value), data };
  return await toOutcome(async () => readQuantity(chain, await request(chain, "eth_estimateGas", [fields])));
}

async function toOutcome<Value>(read: () => Promise<Value>): Promise<Outcome<Value>> {
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
  throw new RpcUnavailable(`The RPC server of ${chain.label} returned an invalid number.`);
}

function readBytes(chain: Chain, answer: unknown): Hex {
  if (isHexBytes(answer)) return answer;
  throw new RpcUnavailable(`The RPC server of ${chain.label} returned invalid bytes.`);
}
