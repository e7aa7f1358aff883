// Resolves ENS names to addresses and back, through the chain's universal resolver.

import { createClient, custom, defineChain, isAddress, type Address, type Client } from "viem";
import { getEnsAddress, getEnsName, normalize } from "viem/ens";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Chain } from "./chains.ts";
import { revertReason, plainLine, RpcRefusal, RpcUnavailable } from "./rpc-failures.ts";

const maximumNameLength = 255;
/** Selector of the error by which a contract asks its caller to fetch a URL (ERC-3668). */
const offchainLookup = "0x556f1830";

/**
 * Returns the ENS contracts of a chain: the configured ones, or else those that viem knows; `null` if there
 * is no universal resolver.
 */
export async function contractsWithEns(
  chainId: number,
  configured: JsonObject | null,
): Promise<EnsContracts | null> {
  const resolver = configured === null ? await knownResolver(chainId) : configured["ensUniversalResolver"];
  const address = isJsonObject(resolver) ? resolver["address"] : undefined;
  if (typeof address !== "string" || !isAddress(address, { strict: false })) return null;
  return { ensUniversalResolver: { address } };
}

export interface EnsContracts {
  readonly ensUniversalResolver: { readonly address: Address };
}

/** Returns the address of a name, `null` for none. @throws Error if the name is invalid or the lookup fails. */
export async function addressOfName(
  chain: Chain,
  contracts: EnsContracts,
  name: string,
): Promise<Address | null> {
  const normalized = normalizeName(name);
  return await lookUp(chain, () => getEnsAddress(openClient(chain, contracts), { name: normalized }));
}

/**
 * Returns the primary name of an address, `null` for none. The resolver verifies the forward resolution. A
 * name that is not normalized (ENSIP-15) counts as none, because it may be a lookalike.
 */
export async function nameOfAddress(
  chain: Chain,
  contracts: EnsContracts,
  address: Address,
): Promise<string | null> {
  const name = await lookUp(chain, () => getEnsName(openClient(chain, contracts), { address }));
  return name !== null && isNormalized(name) ? name : null;
}

/** Returns the name in its normalized form (ENSIP-15). @throws RangeError if it has none. */
export function normalizeName(name: string): string {
  if (name.length > maximumNameLength)
    throw new RangeError(`An ENS name has at most ${maximumNameLength} characters.`);
  try {
    const normalized = normalize(name.trim());
    if (normalized.includes(".")) return normalized;
  } catch {
    // The error below reports the name.
  }
  throw new RangeError(`"${plainLine(name, 100)}" is not an ENS name, such as "vitalik.eth".`);
}

function isNormalized(name: string): boolean {
  try {
    return name.length <= maximumNameLength && normalize(name) === name;
  } catch {
    return false;
  }
}

/** Imports viem's list of chains on demand, because it is large. */
async function knownResolver(chainId: number): Promise<unknown> {
  const known = Object.values(await import("viem/chains")).find(({ id }) => id === chainId);
  const contracts: object = (known !== undefined && "contracts" in known && known.contracts) || {};
  return "ensUniversalResolver" in contracts ? contracts.ensUniversalResolver : null;
}

function openClient(chain: Chain, contracts: EnsContracts): Client {
  const request = ({ method, params }: { method: string; params?: unknown }): Promise<unknown> =>
    chain.request(method, Array.isArray(params) ? params : []);
  return createClient({
    chain: defineChain({
      id: chain.id,
      name: chain.name,
      nativeCurrency: { name: chain.currency.symbol, ...chain.currency },
      rpcUrls: { default: { http: [] } },
      contracts: { ...contracts },
    }),
    transport: custom({ request }, { retryCount: 0 }),
    // With CCIP reads, a contract could make this service fetch URLs in the operator's network.
    ccipRead: false,
  });
}

async function lookUp<Value>(chain: Chain, run: () => Promise<Value>): Promise<Value> {
  return await run().catch((error: unknown) => Promise.reject(explain(chain, error)));
}

function explain(chain: Chain, error: unknown): unknown {
  const cause = causeOf(error);
  if (cause instanceof RpcUnavailable) return cause;
  if (cause === null) return new Error(`The ENS contract of ${chain.label} returned an invalid response.`);
  if (cause.data?.startsWith(offchainLookup)) {
    return new Error("This name is stored off-chain, and this service does not follow off-chain lookups.");
  }
  return new Error(`ENS on ${chain.label} could not look this up: ${revertReason(cause)}.`);
}

/** Returns the error of this service's transport, which viem wraps. */
function causeOf(error: unknown): RpcUnavailable | RpcRefusal | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof RpcUnavailable || cause instanceof RpcRefusal) return cause;
  }
  return null;
}
