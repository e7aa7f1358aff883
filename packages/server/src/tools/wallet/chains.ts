// The configured chains of an App, and access to their RPC servers.

import type { ChainSettings, WalletSettings } from "../../core/app-settings.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import { createRpcEndpoint, type RpcRequest } from "./rpc-endpoint.ts";
import { RpcUnavailable } from "./rpc-failures.ts";
import { listChains } from "./wallet-inputs.ts";

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

/** Returns the error for a model that names a chain which is not configured. */
export function unknownChain(chainId: number, chains: readonly ChainSettings[]): string {
  return `The chain ${chainId} is not configured. There are: ${listChains(chains)}.`;
}

function labelOf({ id, name }: ChainSettings): string {
  return `${name} (chain ${id})`;
}

/** Verifies the server's chain id before the first request: balances of another chain would be wrong. */
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
