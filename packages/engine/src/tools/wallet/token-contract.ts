// Reads real-world ERC-20 contracts: some return bytes32 instead of string, some return nothing, and anybody
// can deploy one that lies. Unreadable facts are `null` with a note; only a contract that implements no token
// function is an error.

import {
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  hexToBytes,
  size,
  type Address,
  type Hex,
} from "viem";
import { callContract, hasCode, type Chain, type Outcome } from "./chains.ts";
import { plainLine } from "./rpc-failures.ts";

export interface TokenFacts {
  readonly symbol: string | null;
  readonly name: string | null;
  readonly decimals: number | null;
  /** Total supply in the smallest unit of the token. */
  readonly totalSupply: bigint | null;
  /** Caveats for the reader of these facts. */
  readonly notes: readonly string[];
}

const maximumTextLength = 64;
const maximumDecimals = 255n;

/** Reads a token's facts. @throws Error if there is no contract, or it responds to no token function. */
export async function readToken(chain: Chain, token: Address): Promise<TokenFacts> {
  const ask = (functionName: "symbol" | "name" | "decimals" | "totalSupply"): Promise<Outcome<Hex>> =>
    callContract(chain, token, encodeFunctionData({ abi: erc20Abi, functionName }));
  const [symbol, name, decimals, supply] = await Promise.all([
    ask("symbol"),
    ask("name"),
    ask("decimals"),
    ask("totalSupply"),
  ]);
  const facts = {
    symbol: readText(symbol),
    name: readText(name),
    decimals: readDecimals(decimals),
    totalSupply: readNumber(supply),
  };
  if (Object.values(facts).every((fact) => fact === null)) {
    if (!(await hasCode(chain, token)))
      throw new Error(`There is no contract at ${token} on ${chain.label}.`);
    throw new Error(
      `The contract at ${token} on ${chain.label} is not an ERC-20 token: it implements none of its functions.`,
    );
  }
  return { ...facts, notes: notesOn(facts) };
}

/** Returns the decimals that a contract reports; `null` if it returns no valid number. */
export async function readTokenDecimals(chain: Chain, token: Address): Promise<number | null> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "decimals" });
  return readDecimals(await callContract(chain, token, data));
}

/** Returns a balance in the smallest unit. @throws Error if the contract does not return one. */
export async function readTokenBalance(chain: Chain, token: Address, holder: Address): Promise<bigint> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [holder] });
  const outcome = await callContract(chain, token, data);
  const balance = readNumber(outcome);
  if (balance !== null) return balance;
  if (!(await hasCode(chain, token))) throw new Error(`There is no contract at ${token} on ${chain.label}.`);
  const answer = outcome.reverted
    ? `refuses: ${outcome.reason}`
    : `answers ${size(outcome.value)} bytes, not a number`;
  throw new Error(`The contract at ${token} on ${chain.label} returns no ERC-20 balance: it ${answer}.`);
}

function notesOn(facts: Omit<TokenFacts, "notes">): string[] {
  const notes = [
    "Name, symbol and decimals are what the contract says of itself: anybody can give a token any name.",
  ];
  const described = { symbol: facts.symbol, name: facts.name, "total supply": facts.totalSupply };
  const missing = Object.entries(described).flatMap(([fact, value]) => (value === null ? [fact] : []));
  if (missing.length > 0)
    notes.push(`The contract does not tell its ${missing.join(", ")} in a form that can be read.`);
  if (facts.decimals === null) {
    notes.push(
      "The contract does not tell its decimals, so amounts are only given raw, in its smallest unit.",
    );
  }
  return notes;
}

function readNumber(outcome: Outcome<Hex>): bigint | null {
  return !outcome.reverted && size(outcome.value) === 32 ? BigInt(outcome.value) : null;
}

function readDecimals(outcome: Outcome<Hex>): number | null {
  const decimals = readNumber(outcome);
  return decimals === null || decimals > maximumDecimals ? null : Number(decimals);
}

function readText(outcome: Outcome<Hex>): string | null {
  if (outcome.reverted) return null;
  const text = size(outcome.value) === 32 ? readBytes32(outcome.value) : readString(outcome.value);
  const line = text === null ? "" : plainLine(text, maximumTextLength);
  return line === "" ? null : line;
}

function readString(data: Hex): string | null {
  try {
    return decodeAbiParameters([{ type: "string" }], data)[0];
  } catch {
    return null;
  }
}

/** Decodes a null-terminated bytes32, which tokens older than the standard return. */
function readBytes32(data: Hex): string | null {
  const bytes = hexToBytes(data);
  const end = bytes.indexOf(0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(end === -1 ? bytes : bytes.subarray(0, end));
  } catch {
    return null;
  }
}
