// What can go wrong with a chain's RPC server, in words that may be shown: its URL may hold a provider's key, so no text of the server
// or of a library goes on without being cleaned of every part of it.

import { cleanText } from "../../core/text.ts";

const maximumMessageLength = 300;
const shortestSecret = 4;

/** The server is down, slow, or answers what is no answer. Says nothing about the chain. */
export class RpcUnavailable extends Error {
  override readonly name = "RpcUnavailable";
}

/** The server has answered with an error: a call that reverts, a method that it does not have, a limit that is reached. */
export class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
  readonly code: number;
  /** What a contract has reverted with, hexadecimal; `null` for nothing. */
  readonly data: `0x${string}` | null;

  constructor(message: string, code: number, data: `0x${string}` | null) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** Whether the contract or the sender's funds refuse the call, rather than the server. */
  get isReverted(): boolean {
    return this.code === 3 || this.data !== null || revertedMessage.test(this.message);
  }
}

const revertedMessage =
  /revert|insufficient funds|invalid opcode|invalid jump|out of gas|stack (under|over)flow/i;

/** One line of at most 300 characters without control and formatting characters, for text that strangers have written. */
export function plainLine(text: string, limit = maximumMessageLength): string {
  const line = cleanText(text)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/\p{Cf}/gu, "")
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit).toWellFormed()}…`;
}

/** Takes every part of a URL out of a text: the whole, host, user, password, path, each part of the path, each value of the query. */
export function createUrlCleaner(url: string): (text: string) => string {
  const { href, origin, host, hostname, pathname, search, username, password, searchParams } = new URL(url);
  const parts = [url, href, origin, host, hostname, pathname, search, username, password];
  parts.push(...pathname.split("/"), ...searchParams.values());
  const spellings = new Set(parts.flatMap((part) => [part, decodeQuietly(part), encodeURIComponent(part)]));
  const secrets = [...spellings].filter((part) => part.length >= shortestSecret);
  // The longest first, so that no half of one stays.
  secrets.sort((left, right) => right.length - left.length);
  return (text) => secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "[hidden]"), text);
}

function decodeQuietly(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
