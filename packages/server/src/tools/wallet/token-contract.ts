// ERC-20 contracts as they are: some answer bytes32 where the standard says string, some answer nothing, and anybody can deploy one that
// lies. What cannot be read is `null` with a note that says why; only a contract that is no token at all is an error.

import {
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  hexToBytes,
  size,
  type Address,
  type Hex,
} from "viem";
import { callContract, hasCode, type Outcome } from "./chain-reads.ts";
import type { Chain } from "./chains.ts";
import { plainLine } from "./rpc-failures.ts";

export interface TokenFacts {
  readonly symbol: string | null;
  readonly name: string | null;
  readonly decimals: number | null;
  /** In the smallest unit. */
  readonly totalSupply: bigint | null;
  /** What a reader of these facts must know. */
  readonly notes: readonly string[];
}

const maximumTextLength = 64;
const maximumDecimals = 255n;

/** What a token says of itself. @throws Error when there is no contract, or it answers nothing that a token would. */
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
      `The contract at ${token} on ${chain.label} is no ERC-20 token: it answers none of its questions.`,
    );
  }
  return { ...facts, notes: notesOn(facts) };
}

/** A holder's balance in the smallest unit. @throws Error when the contract does not tell it. */
export async function readTokenBalance(chain: Chain, token: Address, holder: Address): Promise<bigint> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [holder] });
  const outcome = await callContract(chain, token, data);
  const balance = readNumber(outcome);
  if (balance !== null) return balance;
  if (!(await hasCode(chain, token))) throw new Error(`There is no contract at ${token} on ${chain.label}.`);
  const answer = outcome.reverted
    ? `refuses: ${outcome.reason}`
    : `answers ${size(outcome.value)} bytes, not a number`;
  throw new Error(
    `The contract at ${token} on ${chain.label} does not tell balances like an ERC-20 token: it ${answer}.`,
  );
}

function notesOn(facts: Omit<TokenFacts, "notes">): string[] {
  const notes = [
    "Name, symbol and decimals are what the contract says of itself: anybody can give a token any name.",
  ];
  const missing = [
    ...(facts.symbol === null ? ["symbol"] : []),
    ...(facts.name === null ? ["name"] : []),
    ...(facts.totalSupply === null ? ["total supply"] : []),
  ];
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

/** Text in the first bytes of a word, as tokens from before the standard have it. */
function readBytes32(data: Hex): string | null {
  const bytes = hexToBytes(data);
  const end = bytes.indexOf(0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(end === -1 ? bytes : bytes.subarray(0, end));
  } catch {
    return null;
  }
}
