// What a session knows of its user's wallet. Clients say it and nobody has verified it, so results name where an address came from.

import { getAddress, isAddress, type Address } from "viem";
import type { ChainSettings } from "../../core/app-settings.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ToolTurn } from "../../core/ports/tool.ts";
import { listChains, unknownChain } from "./chains.ts";

export interface OwnedAddress {
  readonly address: Address;
  /** Where it comes from, for the model. */
  readonly source: string;
}

/**
 * The address that the session's user has, `null` when none is known: the connected wallet of the user state, else the wallet that the
 * session is bound to. An address that is no EVM address, or whose checksum is wrong, counts as none.
 */
export function addressOfUser(turn: ToolTurn): OwnedAddress | null {
  const { evm, isConnected } = readUserState(turn);
  const claimed = isConnected ? readAddressQuietly(evm["address"]) : null;
  if (claimed !== null) {
    return { address: claimed, source: "connected wallet of the user (claimed by the client, not verified)" };
  }
  const bound = readAddressQuietly(turn.publicKey);
  if (bound === null) return null;
  return {
    address: bound,
    source: "wallet that the session is bound to (claimed by the client, not verified)",
  };
}

/** The address of an input, else the user's. @throws Error when there is neither, or the checksum is wrong. */
export function addressOrUsers(given: string | undefined, turn: ToolTurn): OwnedAddress {
  if (given !== undefined) return { address: readAddress(given, "address"), source: "given" };
  const owned = addressOfUser(turn);
  if (owned === null)
    throw new Error("The user's wallet address is not known. Give an address, or ask the user for it.");
  return owned;
}

/**
 * The chain of an input, else the one of the user's wallet, else the first that is configured.
 *
 * @throws RangeError when that chain is not configured.
 */
export function chainOrUsers(
  given: number | undefined,
  turn: ToolTurn,
  chains: readonly ChainSettings[],
): number {
  const users = chainOfUser(turn);
  const chainId = given ?? users ?? chains[0]?.id;
  if (chainId !== undefined && chains.some(({ id }) => id === chainId)) return chainId;
  if (given !== undefined || users === null) throw new RangeError(unknownChain(given ?? 0, chains));
  throw new RangeError(
    `The user's wallet is on the chain ${users}, which is not configured. Name one of these as chain_id: ${listChains(chains)}.`,
  );
}

/** The chain that the user's wallet is on, as the client claims it; `null` when it does not say. */
export function chainOfUser(turn: ToolTurn): number | null {
  const { evm, isConnected } = readUserState(turn);
  return isConnected ? readChainId(evm["chain_id"]) : null;
}

/**
 * An address with its checksum (ERC-55). One in small or in capital letters alone has none to check.
 *
 * @throws RangeError naming `field`, for what is no address and for a wrong checksum: a letter of it was changed.
 */
export function readAddress(text: string, field: string): Address {
  const address = readAddressQuietly(text);
  if (address !== null) return address;
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new RangeError(`${field} is not an address: 0x and 40 hexadecimal digits.`);
  }
  throw new RangeError(
    `${field} has a wrong checksum, so a letter of it was changed. Ask for the address again.`,
  );
}

function readAddressQuietly(value: JsonValue | undefined): Address | null {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(value)) return null;
  const digits = value.slice(2);
  const address = digits === digits.toUpperCase() ? `0x${digits.toLowerCase()}` : value;
  return isAddress(address) ? getAddress(address) : null;
}

/** A number, decimal or hexadecimal text, or text as in CAIP-2 (`eip155:1`). */
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
    // Only a clear no: the field is optional.
    isConnected: !isJsonObject(connection) || connection["is_connected"] !== false,
  };
}
