// Tokens that this service issues to holders of wallets: JWT (RFC 7519), HS256, with a key derived from the
// master key, so that every node verifies them.

import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import { problemOf, type TokenProblem } from "./token-refusals.ts";

/** `iss` of the tokens. */
export const WALLET_ISSUER = "urn:colloquy:siwe";
const PURPOSE = "colloquy wallet tokens hs256";
const LIFETIME_MS = 15 * 60_000;

/** A user with proved wallets. */
export interface WalletHolder {
  /** Id of the sign-in. Its refreshed tokens share it, so that revoking one of them ends all. */
  readonly id: string;
  /** `eip155:<address>` of an account, `eip155:<chain>:<address>` of a contract, or the subject of the user's token. */
  readonly subject: string;
  /** The App user's token that was sent at the first sign-in; `null` if there was none. */
  readonly user: UserToken | null;
  /** Ids of the wallets, the newest last. */
  readonly wallets: readonly string[];
  /** No token of the sign-in is valid after this time, in milliseconds since the Unix epoch. */
  readonly until: number;
}

export type UserToken = z.output<typeof UserToken>;
const UserToken = z.object({
  issuer: z.string(),
  audiences: z.array(z.string()),
  /** Apps that accepted the token. */
  apps: z.array(z.string()),
  /** Id for revocations. */
  id: z.string(),
});

/** Tokens without a version do not distinguish contracts from accounts, and are refused: their holders sign in again. */
const VERSION = 2;

const Claims = z.object({
  version: z.literal(VERSION),
  sub: z.string(),
  jti: z.string(),
  exp: z.number(),
  until: z.number(),
  wallets: z.array(z.string()),
  user: UserToken.nullable(),
});

interface VerifiedHolder {
  readonly holder: WalletHolder;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

export class WalletTokens {
  readonly #keys: SigningKeys;
  readonly #clock: Pick<Clock, "now">;

  constructor(keys: SigningKeys, clock: Pick<Clock, "now">) {
    this.#keys = keys;
    this.#clock = clock;
  }

  async sign({ id, subject, ...claims }: WalletHolder) {
    const now = this.#clock.now();
    const exp = Math.floor(Math.min(now + LIFETIME_MS, claims.until) / 1000);
    const key = await this.#keys.current();
    const token = await new SignJWT({ ...claims, version: VERSION, iat: Math.floor(now / 1000), exp })
      .setProtectedHeader({ alg: "HS256", typ: "JWT", kid: key.id })
      .setIssuer(WALLET_ISSUER)
      .setSubject(subject)
      .setJti(id)
      .sign(key.derive(PURPOSE));
    return { token, expiresAt: exp * 1000 };
  }

  async verify(token: string): Promise<VerifiedHolder | TokenProblem> {
    try {
      const { kid = "" } = decodeProtectedHeader(token);
      const key = await this.#keys.find(kid);
      if (key === null) return "token_key_unknown";
      const { payload } = await jwtVerify(token, key.derive(PURPOSE), {
        issuer: WALLET_ISSUER,
        algorithms: ["HS256"],
        currentDate: new Date(this.#clock.now()),
      });
      const claims = Claims.safeParse(payload);
      if (!claims.success) return "token_malformed";
      const { sub: subject, jti: id, exp, version: _version, ...holder } = claims.data;
      return { holder: { id, subject, ...holder }, expiresAt: exp * 1000 };
    } catch (error) {
      const problem = error instanceof errors.JOSEError ? problemOf(error) : null;
      if (problem !== null) return problem;
      throw error;
    }
  }
}
