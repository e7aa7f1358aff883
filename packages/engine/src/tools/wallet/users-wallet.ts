// The user's wallet: proved by a sign-in, or claimed by the client. Results name the source of an address.

import { getAddress, isAddress, type Address } from "viem";
import type { ChainSettings } from "../../core/app-settings.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ToolTurn } from "../../core/ports/driven/tool.ts";
import { chainOf } from "../../core/wallet-id.ts";
import { listChains, unknownChain } from "./wallet-inputs.ts";

export interface OwnedAddress {
  readonly address: Address;
  /** Source of the address, for the model. */
  readonly source: string;
}

/**
 * Returns the user's address, or `null` if it is unknown: the connected wallet of the user state, or else the
 * wallet that the session is bound to. Ignores text that is not an EVM address or has a wrong checksum.
 */
export function addressOfUser(turn: ToolTurn): OwnedAddress | null {
  const { evm, isConnected } = readUserState(turn);
  const claimed = isConnected ? readAddressQuietly(evm["address"]) : null;
  const bound = readAddressQuietly(turn.publicKey);
  const address = claimed ?? bound;
  if (address === null) return null;
  const wallet = claimed === null ? "wallet that the session is bound to" : "connected wallet of the user";
  const isProved = turn.walletProved && address === bound;
  const chain = turn.walletId === null ? null : chainOf(turn.walletId);
  const where = chain === null ? "" : `, as a contract on the chain ${chain} only`;
  const trust = isProved
    ? `verified: the user signed in with it${where}`
    : "claimed by the client, not verified";
  return { address, source: `${wallet} (${trust})` };
}

/**
 * Returns the given address, or else the user's. @throws Error if there is none, or the checksum is wrong.
 */
export function addressOrUsers(address: string | undefined, turn: ToolTurn): OwnedAddress {
  if (address !== undefined) return { address: readAddress(address, "address"), source: "given" };
  const owned = addressOfUser(turn);
  if (owned === null)
    throw new Error("The user's wallet address is not known. Give an address, or ask the user for it.");
  return owned;
}

/**
 * Returns the given chain, or else the chain of the user's wallet, or else the first configured chain.
 *
 * @throws RangeError if that chain is not configured.
 */
export function chainOrUsers(
  requested: number | undefined,
  turn: ToolTurn,
  chains: readonly ChainSettings[],
): number {
  const users = chainOfUser(turn);
  const chainId = requested ?? users ?? chains[0]?.id;
  if (chainId !== undefined && chains.some(({ id }) => id === chainId)) return chainId;
  if (requested !== undefined || users === null) throw new RangeError(unknownChain(requested ?? 0, chains));
  throw new RangeError(
    `The user's wallet is on the chain ${users}, which is not configured. Name one of these as chain_id: ${listChains(chains)}.`,
  );
}

/** Returns the chain id that the client claims for the user's wallet; `null` if it claims none. */
export function chainOfUser(turn: ToolTurn): number | null {
  const { evm, isConnected } = readUserState(turn);
  return isConnected ? readChainId(evm["chain_id"]) : null;
}

/**
 * Returns an address in checksum format (ERC-55). Input in one letter case has no checksum to verify.
 *
 * @throws RangeError naming `field` if the text is not an address or has a wrong checksum.
 */
export function readAddress(text: string, field: string): Address {
  const address = readAddressQuietly(text);
  if (address !== null) return address;
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new RangeError(`${field} is not an address: 0x and 40 hexadecimal digits.`);
  }
  throw new RangeError(
    `${field} has a wrong checksum, so it was mistyped or altered. Ask for the address again.`,
  );
}

function readAddressQuietly(value: JsonValue | undefined): Address | null {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(value)) return null;
  const digits = value.slice(2);
  const address = digits === digits.toUpperCase() ? `0x${digits.toLowerCase()}` : value;
  return isAddress(address) ? getAddress(address) : null;
}

/** Parses a number, decimal or hexadecimal text, or a CAIP-2 id (`eip155:1`). */
function readChainId(value: JsonValue | undefined): number | null {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return null;
  const [, number] = /^(?:eip155:)?(\d{1,15}|0x[0-9a-fA-F]{1,12})$/.exec(text.trim()) ?? [];
  return number === undefined ? null : Number(number);
}

function readUserState({ userState }: ToolTurn) {
  const { evm, connection } = userState ?? {};
  return {
    evm: isJsonObject(evm) ? evm : {},
    // A wallet counts as connected unless the optional field is false.
    isConnected: !isJsonObject(connection) || connection["is_connected"] !== false,
  };
}
