// Sign-In with Ethereum (EIP-4361): exchanges a signed message for a token that proves the wallet.

import { createHash, randomUUID } from "node:crypto";
import { ServiceError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { ContractWallets, SignedMessage } from "../../core/ports/driven/contract-wallets.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import type { UserStore } from "../../core/ports/driven/store.ts";
import type { WalletProof, WalletSignInService, WalletToken } from "../../core/ports/driving/credentials.ts";
import type * as SiweMessages from "./siwe-message.ts";
import { expiryOfNonce, newNonce } from "./siwe-nonces.ts";
import { refusedProof, siweUnavailable } from "./siwe-refusals.ts";
import type { CheckedTokens } from "./user-tokens.ts";
import { type WalletHolder, WalletTokens } from "./wallet-tokens.ts";

/** Milliseconds for which the tokens of a sign-in can be refreshed. */
const SIGN_IN_MS = 24 * 60 * 60_000;

export interface WalletSignInOptions {
  readonly store: UserStore;
  readonly users: Pick<CheckedTokens, "holderOf">;
  /** `null` if there are no master keys. */
  readonly keys: SigningKeys | null;
  readonly clock: Pick<Clock, "now">;
  /** Verifier of contract wallets; loaded at the first signature that is not from an account's key. */
  readonly contracts: () => Promise<ContractWallets>;
}

export class WalletSignIn implements WalletSignInService {
  readonly #options: WalletSignInOptions;

  constructor(options: WalletSignInOptions) {
    this.#options = options;
  }

  async nonce(): Promise<string> {
    return await newNonce(this.#keys(), this.#options.clock);
  }

  async verify({ message, signature, domains, token }: WalletProof): Promise<WalletToken> {
    const { clock, users } = this.#options;
    const holder = token === null ? null : await users.holderOf(token);
    const { readMessage, isSignedByAccount } = await loadMessages();
    const proof = readMessage(message, clock.now(), domains);
    if (proof instanceof ServiceError) throw proof;
    // Check the nonce before the signature, so that only messages with a nonce of this service reach a chain.
    const nonceEnd = await this.#endOfNonce(proof.nonce);
    const isSigned =
      (await isSignedByAccount(proof, signature)) ||
      (await this.#isSignedByContract({ ...proof, signature }));
    if (!isSigned) throw refusedProof("siwe_signature_wrong");
    // Use the nonce last, so that a rejected request does not use it up.
    await this.#useNonce(proof.nonce, nonceEnd);
    const wallet = proof.address.toLowerCase();
    const until = Math.min(holder?.until ?? Number.POSITIVE_INFINITY, clock.now() + SIGN_IN_MS, proof.end);
    return await this.#issue({
      id: holder?.id ?? randomUUID(),
      subject: holder?.subject ?? `eip155:${wallet}`,
      user: holder?.user ?? null,
      wallets: [...new Set([...(holder?.wallets ?? []), wallet])],
      until,
    });
  }

  async refresh(token: string): Promise<WalletToken> {
    const holder = await this.#options.users.holderOf(token);
    if (holder.wallets.length > 0) return await this.#issue(holder);
    const detail = "The token holds no wallet. Sign in with the wallet first.";
    throw new ServiceError(403, "wallet_not_proved", detail);
  }

  async #issue(holder: WalletHolder): Promise<WalletToken> {
    const issued = await new WalletTokens(this.#keys(), this.#options.clock).sign(holder);
    return { ...issued, wallets: holder.wallets };
  }

  async #isSignedByContract(message: SignedMessage): Promise<boolean> {
    try {
      const contracts = await this.#options.contracts();
      return await contracts.isSigned(message);
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
