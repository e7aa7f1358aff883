// Errors of RPC servers, safe to show. The URL may contain a provider's key, so all parts of the URL are
// removed from every text of the server or of a library.

import { decodeErrorResult, parseAbi, type Hex } from "viem";
import { cleanText, decodePercent } from "../../core/json.ts";

const maximumMessageLength = 300;
const shortestSecret = 4;

/** The server is down, slow or returns an invalid response. The error says nothing about the chain. */
export class RpcUnavailable extends Error {
  override readonly name = "RpcUnavailable";
}

/** The server returned an error: a reverted call, an unknown method, a rate limit. */
export class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
  readonly code: number;
  /** Revert data in hexadecimal; `null` for none. */
  readonly data: `0x${string}` | null;

  constructor(message: string, code: number, data: `0x${string}` | null) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** True if the contract or insufficient funds caused the error, rather than the server. */
  get isReverted(): boolean {
    return this.code === 3 || this.data !== null || revertedMessage.test(this.message);
  }
}

const revertedMessage =
  /revert|insufficient funds|invalid opcode|invalid jump|out of gas|stack (under|over)flow/i;

/** Returns text as one line of at most `limit` characters, without control and format characters. */
export function plainLine(text: string, limit = maximumMessageLength): string {
  const line = cleanText(text)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/\p{Cf}/gu, "")
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit).toWellFormed()}…`;
}

/** Creates a function that removes the URL and all its parts from a text. */
export function createUrlCleaner(url: string): (text: string) => string {
  const { href, origin, host, hostname, pathname, search, username, password, searchParams } = new URL(url);
  const parts = [url, href, origin, host, hostname, pathname, search, username, password];
  parts.push(...pathname.split("/"), ...searchParams.values());
  const spellings = new Set(parts.flatMap((part) => [part, decodePercent(part), encodeURIComponent(part)]));
  const secrets = [...spellings].filter((part) => part.length >= shortestSecret);
  // Longest first, so that no part of a longer secret remains.
  secrets.sort((left, right) => right.length - left.length);
  return (text) => secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "[hidden]"), text);
}

const solidityErrors = parseAbi(["error Error(string)", "error Panic(uint256)"]);

/**
 * Returns the reason of a revert as part of a sentence: the contract's reason, or else the server's message.
 */
export function revertReason({ data, message }: RpcRefusal): string {
  if (data === null || data === "0x") return message;
  return decodeReason(data) ?? `the contract's error ${data.slice(0, 10)}`;
}

function decodeReason(data: Hex): string | null {
  try {
    const { errorName, args } = decodeErrorResult({ abi: solidityErrors, data });
    if (errorName === "Error") return `"${plainLine(args[0])}"`;
    return `the contract panics: ${panics.get(args[0]) ?? `code ${args[0]}`}`;
  } catch {
    return null;
  }
}

/** Common Solidity panic codes. */
const panics: ReadonlyMap<bigint, string> = new Map([
  [0x01n, "an assertion failed"],
  [0x11n, "an overflow in arithmetic"],
  [0x12n, "a division by zero"],
  [0x31n, "an empty array"],
  [0x32n, "an index out of bounds"],
  [0x41n, "too much memory"],
]);
