// Messages of Sign-In with Ethereum (EIP-4361). Loaded with the first sign-in, because the library is large.

import { createSiweMessage } from "viem/siwe";
import { getAddress, stringToHex } from "viem/utils";

/** Returns the message that proves the user's wallet to this page, as text and as bytes to sign. */
export function signInMessage(
  { host, origin, pathname }: Pick<Location, "host" | "origin" | "pathname">,
  parts: {
    readonly address: string;
    readonly chainId: number;
    readonly nonce: string;
    /** By the service's clock. */
    readonly issuedAt: Date;
  },
): { readonly message: string; readonly bytes: string } {
  const message = createSiweMessage({
    ...parts,
    address: getAddress(parts.address),
    domain: host,
    uri: `${origin}${pathname}`,
    version: "1",
    statement: "Prove that you hold this wallet. This sends no transaction and costs nothing.",
  });
  return { message, bytes: stringToHex(message) };
}
