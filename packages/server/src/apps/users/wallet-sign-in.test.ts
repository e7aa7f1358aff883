import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from "jose";
import { createSiweMessage } from "viem/siwe";
import { ManualClock } from "../../../test/manual-clock.ts";
import { newAccount } from "../../../test/sign-in-messages.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import { createMasterKey } from "../secrets/master-key.ts";
import { CheckedTokens } from "./user-tokens.ts";
import { WalletSignIn } from "./wallet-sign-in.ts";

const MINUTE = 60_000;
const DOMAIN = "chat.example.com";

let clock: ManualClock;
let ring: ReturnType<typeof createMasterKey>[];
beforeEach(() => {
  clock = new ManualClock(Date.now());
  ring = [createMasterKey(randomBytes(32))];
});

const ringKeys: SigningKeys = {
  isOpen: true,
  current: async () => ring[0]!,
  find: async (id) => ring.find((key) => key.id === id) ?? null,
};

const NO_APPS: AppCatalog = { names: () => [], get: () => null };

function given(keys: SigningKeys | null = ringKeys, apps = NO_APPS) {
  const used = new Map<string, number>();
  const store = {
    revokeToken: async (id: string, expiresAt: number) => {
      const isNew = !used.has(id);
      if (isNew) used.set(id, expiresAt);
      return isNew;
    },
    isTokenRevoked: async (id: string) => used.has(id),
    forgetRevokedTokens: async (limit: number) => {
      const over = [...used].filter(([, expiresAt]) => expiresAt < clock.now()).slice(0, limit);
      for (const [id] of over) used.delete(id);
      return over.length;
    },
  };
  const logger = { warn: () => undefined };
  const contracts = async () => ({ isSigned: async () => false });
  const users = new CheckedTokens({ store, clock, logger, apps, keys });
  const signIn = new WalletSignIn({ store, clock, keys, users, contracts });
  const withNonce = async (nonce: string, token: string | null = null) => {
    const account = newAccount();
    const { address } = account;
    const message = createSiweMessage({
      address,
      nonce,
      domain: DOMAIN,
      uri: `https://${DOMAIN}`,
      version: "1",
      chainId: 1,
      issuedAt: new Date(clock.now()),
    });
    const signature = await account.signMessage({ message });
    return await signIn.verify({ message, signature, domains: [DOMAIN], token });
  };
  return { signIn, users, store, withNonce };
}

const code = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => "accepted",
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );

describe("the sign-in with a wallet", () => {
  it("accepts a nonce for five minutes", async () => {
    const { signIn, withNonce } = given();
    const [early, late] = [await signIn.nonce(), await signIn.nonce()];
    await clock.advance(5 * MINUTE - 1);
    expect(await code(withNonce(early))).toBe("accepted");
    await clock.advance(1);
    expect(await code(withNonce(late))).toBe("siwe_nonce_invalid");
  });

  it("returns tokens for 15 minutes, refreshable for 24 hours", async () => {
    const { signIn, users, withNonce } = given();
    const first = await withNonce(await signIn.nonce());
    await clock.advance(15 * MINUTE);
    expect(await users.check(first.token)).toMatchObject({ code: "token_expired" });
    expect(await code(signIn.refresh(first.token))).toBe("token_expired");
    const begun = clock.now();
    let { token, expiresAt } = await withNonce(await signIn.nonce());
    for (let refreshes = 0; refreshes < 95; refreshes += 1) {
      await clock.advance(expiresAt - 1000 - clock.now());
      ({ token, expiresAt } = await signIn.refresh(token));
    }
    await clock.advance(expiresAt - 1000 - clock.now());
    const last = await signIn.refresh(token);
    expect(last.expiresAt).toBe(Math.floor((begun + 24 * 60 * MINUTE) / 1000) * 1000);
    await clock.advance(last.expiresAt - clock.now());
    expect(await code(signIn.refresh(last.token))).toBe("token_expired");
  });

  it("stays revoked for as long as it could be refreshed, not only until the revoked token expires", async () => {
    const { signIn, users, store, withNonce } = given();
    const first = await withNonce(await signIn.nonce());
    await clock.advance(10 * MINUTE);
    const next = await signIn.refresh(first.token);
    await users.revoke(first.token);
    await clock.advance(10 * MINUTE);
    await store.forgetRevokedTokens(100);
    expect(await users.check(first.token)).toMatchObject({ code: "token_expired" });
    expect(await users.check(next.token)).toMatchObject({ code: "token_revoked" });
    expect(await code(signIn.refresh(next.token))).toBe("token_revoked");
  });

  it("returns a token for the Apps that accept the user's token, not for one with other keys", async () => {
    const pairs = [await generateKeyPair("ES256"), await generateKeyPair("ES256")] as const;
    const settings = { issuer: "https://login.test", audience: "chat", jwksUri: null };
    const usersOf = async (key: CryptoKey) => ({
      ...settings,
      keys: [await exportJWK(key)],
      required: false,
    });
    const byApp = new Map([
      ["default", { users: await usersOf(pairs[0].publicKey) }],
      ["shop", { users: await usersOf(pairs[1].publicKey) }],
    ]);
    const names = [...byApp.keys()];
    const apps: AppCatalog = { names: () => names, get: (name) => (byApp.get(name) ?? null) as never };
    const { signIn, users, withNonce } = given(ringKeys, apps);
    const token = await new SignJWT({ iss: settings.issuer, aud: settings.audience, sub: "alice" })
      .setProtectedHeader({ alg: "ES256" })
      .setExpirationTime(new Date(clock.now() + 60 * MINUTE))
      .sign(pairs[0].privateKey);
    const answer = await withNonce(await signIn.nonce(), token);
    expect(await users.check(answer.token)).toMatchObject({ apps: ["default"], opens: ["default"] });
  });

  it("accepts tokens of an old master key until the key is removed", async () => {
    const { signIn, withNonce } = given();
    const { token } = await withNonce(await signIn.nonce());
    const old = ring[0]!;
    ring = [createMasterKey(randomBytes(32)), old];
    const next = await signIn.refresh(token);
    ring = ring.slice(0, 1);
    expect(await code(signIn.refresh(token))).toBe("token_key_unknown");
    expect(await code(signIn.refresh(next.token))).toBe("accepted");
  });

  it("responds with 503 without a master key", async () => {
    for (const keys of [null, { ...ringKeys, isOpen: false }]) {
      const { signIn, withNonce } = given(keys);
      expect(await code(signIn.nonce())).toBe("siwe_unavailable");
      expect(await code(withNonce("a0nonce0of0the0test"))).toBe("siwe_unavailable");
    }
  });
});
