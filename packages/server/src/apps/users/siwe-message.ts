// Sign-In with Ethereum messages (EIP-4361) and their signatures. Loaded at the first sign-in, because viem is large and optional.

import { type Hex, isAddress, isAddressEqual, recoverMessageAddress } from "viem";
import { parseSiweMessage } from "viem/siwe";
import { InvalidRequest, type ServiceError } from "../../core/errors.ts";
import { refusedProof } from "./siwe-refusals.ts";

export type SignInMessage = Exclude<ReturnType<typeof readMessage>, ServiceError>;

/** Returns the parts of a message that is valid now and for one of these domains, or the error for the client. */
export function readMessage(text: string, now: number, domains: readonly string[]) {
  const message = parseSiweMessage(text);
  const { address, domain, nonce, uri, version, chainId, issuedAt, expirationTime, notBefore } = message;
  const times = [issuedAt, expirationTime, notBefore].map((time) => time?.getTime() ?? now);
  if (address === undefined || domain === undefined || nonce === undefined || chainId === undefined) {
    return malformed("a required line is missing");
  }
  if (uri === undefined || version !== "1" || issuedAt === undefined)
    return malformed("a required line is missing, or its version is not 1");
  if (times.some(Number.isNaN)) return malformed("it has a time that is not in RFC 3339 format");
  if (!isAddress(address)) return malformed("its address has a wrong checksum (ERC-55)");
  if (!domains.includes(domain.toLowerCase())) return refusedProof("siwe_domain_refused");
  const end = expirationTime?.getTime() ?? Number.POSITIVE_INFINITY;
  if (end <= now || (notBefore?.getTime() ?? 0) > now) return refusedProof("siwe_message_expired");
  return { text, address, nonce, chainId, end };
}

/** Returns true if the key of the account signed the message (EIP-191). Makes no network requests. */
export async function isSignedByAccount({ text, address }: SignInMessage, signature: Hex): Promise<boolean> {
  try {
    return isAddressEqual(await recoverMessageAddress({ message: text, signature }), address);
  } catch {
    // Wrong length or not a curve point, so no account created it; a contract may still accept it.
    return false;
  }
}

function malformed(reason: string): ServiceError {
  const detail = `The message is not a valid Sign-In with Ethereum message (EIP-4361): ${reason}. Create it with a library, such as createSiweMessage of viem.`;
  return new InvalidRequest("siwe_message_invalid", detail);
}
