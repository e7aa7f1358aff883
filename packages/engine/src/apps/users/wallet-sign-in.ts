// Sign-In with Ethereum (EIP-4361): exchanges a signed message for a token that proves the wallet.

import type * as SiweMessages from "./siwe-message.ts";
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { ServiceError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type {
  ContractSigner,
  ContractWallets,
  SignedMessage,
} from "../../core/ports/driven/contract-wallets.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import type { UserStore } from "../../core/ports/driven/store.ts";
import type { WalletProof, WalletToken } from "../../core/ports/driving/credentials.ts";
import { addressOf, contractWalletId } from "../../core/wallet-id.ts";
import { refusedProof, siweUnavailable } from "./siwe-refusals.ts";
import type { CheckedTokens } from "./user-tokens.ts";
import { WALLET_ISSUER, type WalletHolder, WalletTokens } from "./wallet-tokens.ts";

/** Milliseconds for which the tokens of a sign-in can be refreshed. */
const SIGN_IN_MS = 24 * 60 * 60_000;

const NONCE_PURPOSE = "colloquy siwe nonces hmac-sha256";
const NONCE_MS = 5 * 60_000;
/** Hexadecimal expiry time, random bytes, and signature of both. */
const NONCE = /^([0-9a-f]{12})[0-9a-f]{16}([0-9a-f]{32})$/;

export interface WalletSignInOptions {
  readonly store: UserStore;
  readonly users: Pick<CheckedTokens, "holderOf" | "ownerOf">;
  /** `null` if there are no master keys. */
  readonly keys: SigningKeys | null;
  readonly clock: Pick<Clock, "now">;
  /** Verifier of contract wallets; loaded at the first signature that is not from an account's key. */
  readonly contracts: () => Promise<ContractWallets>;
  /** Gives the sessions that one pseudonym owns to another, and fixes those of the wallet's address to the wallet. */
  readonly inherit: (from: string, to: string, walletId: string) => Promise<void>;
}

/** Sign-in with wallets. Methods throw `ServiceError`: 401 for an invalid token, 503 without a master key. */
export class WalletSignIn {
  readonly #options: WalletSignInOptions;

  constructor(options: WalletSignInOptions) {
    this.#options = options;
  }

  /** Returns a nonce that any node accepts once, within five minutes, and the time in milliseconds since the Unix epoch. */
  async nonce(): Promise<{ readonly nonce: string; readonly issuedAt: number }> {
    const { clock } = this.#options;
    return { nonce: await newNonce(this.#keys(), clock), issuedAt: clock.now() };
  }

  /** @throws ServiceError 400 for a malformed message, 401 for an invalid one or a wrong signature */
  async verify({ message, signature, domains, token }: WalletProof): Promise<WalletToken> {
    const { clock, users } = this.#options;
    const holder = token === null ? null : await users.holderOf(token);
    const { readMessage, isSignedByAccount } = await loadMessages();
    const proof = readMessage(message, clock.now(), domains);
    if (proof instanceof ServiceError) throw proof;
    // Check the nonce before the signature, so that only messages with a nonce of this service reach a chain.
    const nonceEnd = await this.#endOfNonce(proof.nonce);
    // A key comes first: an account keeps its id whatever code it has delegated to (EIP-7702).
    const isAccount = await isSignedByAccount(proof, signature);
    const contract = isAccount ? null : await this.#contractOf({ ...proof, signature });
    if (!isAccount && contract === null) throw refusedProof("siwe_signature_wrong");
    // Use the nonce last, so that a rejected request does not use it up.
    await this.#useNonce(proof.nonce, nonceEnd);
    const address = proof.address.toLowerCase();
    const wallet = isAccount ? address : contractWalletId(proof.chainId, address);
    const subject = isAccount ? `eip155:${address}` : wallet;
    // An account with a key may own the address's sessions, even if it has delegated to code.
    if (contract === "contract" && holder === null) {
      const ownerOf = (of: string): string => users.ownerOf(WALLET_ISSUER, of);
      await this.#options.inherit(ownerOf(`eip155:${address}`), ownerOf(subject), wallet);
    }
    const until = Math.min(holder?.until ?? Number.POSITIVE_INFINITY, clock.now() + SIGN_IN_MS, proof.end);
    return await this.#issue({
      id: holder?.id ?? randomUUID(),
      subject: holder?.subject ?? subject,
      user: holder?.user ?? null,
      wallets: [...(holder?.wallets ?? []).filter((id) => id !== wallet), wallet],
      until,
    });
  }

  /** Returns the next token of a sign-in. @throws ServiceError 403 for a token without wallets */
  async refresh(token: string): Promise<WalletToken> {
    const holder = await this.#options.users.holderOf(token);
    if (holder.wallets.length > 0) return await this.#issue(holder);
    const detail = "The token holds no wallet. Sign in with the wallet first.";
    throw new ServiceError(403, "wallet_not_proved", detail);
  }

  async #issue(holder: WalletHolder): Promise<WalletToken> {
    const { clock } = this.#options;
    const issued = await new WalletTokens(this.#keys(), clock).sign(holder);
    const lifetimeMs = issued.expiresAt - clock.now();
    return { ...issued, lifetimeMs, wallets: [...new Set(holder.wallets.map(addressOf))] };
  }

  async #contractOf(message: SignedMessage): Promise<ContractSigner | null> {
    try {
      const contracts = await this.#options.contracts();
      return await contracts.signerOf(message);
    } catch (error) {
      throw siweUnavailable(`the server of chain ${message.chainId} does not respond correctly`, error);
    }
  }

  async #endOfNonce(nonce: string): Promise<number> {
    const expiresAt = await expiryOfNonce(nonce, this.#keys());
    if (expiresAt === null || expiresAt <= this.#options.clock.now())
      throw refusedProof("siwe_nonce_invalid");
    return expiresAt;
  }

  async #useNonce(nonce: string, expiresAt: number): Promise<void> {
    const { store } = this.#options;
    const id = createHash("sha256").update(`siwe nonce ${nonce}`).digest("base64url");
    if (!(await store.revokeToken(id, expiresAt))) throw refusedProof("siwe_nonce_invalid");
  }

  #keys(): SigningKeys {
    const { keys } = this.#options;
    if (keys?.isOpen === true) return keys;
    throw siweUnavailable("the service has no master key");
  }
}

async function loadMessages(): Promise<typeof SiweMessages> {
  try {
    return await import("./siwe-message.ts");
  } catch (error) {
    throw siweUnavailable("the package viem is not installed", error);
  }
}

/** Returns a signed nonce (EIP-4361). Issuing a nonce writes nothing: the store records only used ones. */
async function newNonce(keys: SigningKeys, clock: Pick<Clock, "now">): Promise<string> {
  const expiresAt = (clock.now() + NONCE_MS).toString(16).padStart(12, "0");
  const text = expiresAt + randomBytes(8).toString("hex");
  return text + (await signatureOf(text, keys));
}

/** Returns when the nonce expires, in milliseconds since the Unix epoch; `null` if this service did not issue it. */
async function expiryOfNonce(nonce: string, keys: SigningKeys): Promise<number | null> {
  const [, expiresAt, signature] = NONCE.exec(nonce) ?? [];
  if (expiresAt === undefined || signature === undefined) return null;
  const expected = await signatureOf(nonce.slice(0, -signature.length), keys);
  const isGenuine = timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
  return isGenuine ? Number.parseInt(expiresAt, 16) : null;
}

async function signatureOf(text: string, keys: SigningKeys): Promise<string> {
  const key = await keys.current();
  return createHmac("sha256", key.derive(NONCE_PURPOSE)).update(text).digest("hex").slice(0, 32);
}
