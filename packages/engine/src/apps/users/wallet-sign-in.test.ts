import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, type CryptoKey } from "jose";
import type { Address } from "viem";
import { createSiweMessage } from "viem/siwe";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { newAccount } from "../../../../server/test/sign-in-messages.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import type { ContractSigner, SignedMessage } from "../../core/ports/driven/contract-wallets.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import { createMasterKey } from "../secrets/master-key.ts";
import { CheckedTokens } from "./user-tokens.ts";
import { WalletSignIn } from "./wallet-sign-in.ts";
import { WALLET_ISSUER } from "./wallet-tokens.ts";

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

const nonceOf = async (signIn: WalletSignIn): Promise<string> => (await signIn.nonce()).nonce;

/** `signer`: what accepts signatures that are not of the address's key. */
function given(keys: SigningKeys | null = ringKeys, apps = NO_APPS, signer: ContractSigner | null = null) {
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
  const asked: SignedMessage[] = [];
  const contracts = async () => ({
    signerOf: async (signed: SignedMessage) => {
      asked.push(signed);
      return signer;
    },
  });
  const inherited: string[][] = [];
  const inherit = async (...parameters: string[]): Promise<void> => void inherited.push(parameters);
  const users = new CheckedTokens({ store, clock, logger, apps, keys });
  const signIn = new WalletSignIn({ store, clock, keys, users, contracts, inherit });
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
  /** Signs in a wallet whose signatures are of another key. */
  const asContract = async (address: Address, chainId: number, token: string | null = null) => {
    const message = createSiweMessage({
      address,
      chainId,
      nonce: await nonceOf(signIn),
      domain: DOMAIN,
      uri: `https://${DOMAIN}`,
      version: "1",
      issuedAt: new Date(clock.now()),
    });
    const signature = await newAccount().signMessage({ message });
    return await signIn.verify({ message, signature, domains: [DOMAIN], token });
  };
  return { signIn, users, store, withNonce, asContract, asked, inherited };
}

const code = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => "accepted",
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );

describe("the sign-in with a wallet", () => {
  it("accepts a nonce for five minutes", async () => {
    const { signIn, withNonce } = given();
    const [early, late] = [await nonceOf(signIn), await nonceOf(signIn)];
    await clock.advance(5 * MINUTE - 1);
    expect(await code(withNonce(early))).toBe("accepted");
    await clock.advance(1);
    expect(await code(withNonce(late))).toBe("siwe_nonce_invalid");
  });

  it("checks the token, message, domain, time, nonce and signature in this order, and that the nonce is unused last", async () => {
    const { signIn, withNonce, asked } = given();
    const used = await nonceOf(signIn);
    await withNonce(used);
    const nonce = await nonceOf(signIn);
    const account = newAccount();
    const parts = {
      address: account.address,
      domain: DOMAIN,
      uri: `https://${DOMAIN}`,
      version: "1",
      chainId: 1,
    } as const;
    const now = new Date(clock.now());
    const text = (more: object) => createSiweMessage({ ...parts, nonce, issuedAt: now, ...more });
    const late = { issuedAt: new Date(clock.now() - 61 * MINUTE) };
    const elsewhere = { domain: "elsewhere.test", uri: "https://elsewhere.test" };
    const foreign = { nonce: "a0nonce0of0the0test" };
    // Each message has every later fault too.
    const refused = async (message: string, token: string | null = null) => {
      const signature = await newAccount().signMessage({ message });
      return await code(signIn.verify({ message, signature, domains: [DOMAIN], token }));
    };
    expect(await refused("no message", "no token")).toBe("token_malformed");
    expect(await refused(`${text({ ...elsewhere, ...late, ...foreign })} `)).toBe("siwe_message_invalid");
    expect(await refused(text({ ...elsewhere, ...late, ...foreign }))).toBe("siwe_domain_refused");
    expect(await refused(text({ ...late, ...foreign }))).toBe("siwe_message_expired");
    expect(await refused(text(foreign))).toBe("siwe_nonce_invalid");
    // Only a message with a nonce of this service reaches a chain.
    expect(asked).toEqual([]);
    expect(await refused(text({ nonce: used }))).toBe("siwe_signature_wrong");
    expect(asked).toHaveLength(1);
  });

  it("returns tokens for 15 minutes, refreshable for 24 hours", async () => {
    const { signIn, users, withNonce } = given();
    const first = await withNonce(await nonceOf(signIn));
    await clock.advance(15 * MINUTE);
    expect(await users.check(first.token)).toMatchObject({ code: "token_expired" });
    expect(await code(signIn.refresh(first.token))).toBe("token_expired");
    const begun = clock.now();
    let { token, expiresAt } = await withNonce(await nonceOf(signIn));
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
    const first = await withNonce(await nonceOf(signIn));
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
      ["default", { users: await usersOf(pairs[0].publicKey), tools: {} }],
      ["shop", { users: await usersOf(pairs[1].publicKey), tools: {} }],
    ]);
    const names = [...byApp.keys()];
    const apps: AppCatalog = { names: () => names, get: (name) => (byApp.get(name) ?? null) as never };
    const { signIn, users, withNonce } = given(ringKeys, apps);
    const token = await new SignJWT({ iss: settings.issuer, aud: settings.audience, sub: "alice" })
      .setProtectedHeader({ alg: "ES256" })
      .setExpirationTime(new Date(clock.now() + 60 * MINUTE))
      .sign(pairs[0].privateKey);
    const answer = await withNonce(await nonceOf(signIn), token);
    expect(await users.check(answer.token)).toMatchObject({ apps: ["default"], opens: ["default"] });
  });

  const PROVED: AppCatalog = {
    names: () => ["default"],
    get: () => ({ users: null, wallets: "proved" }) as never,
  };

  it("identifies an account by its address, on any chain and without asking for a contract", async () => {
    const { signIn, users, withNonce, asked, inherited } = given(ringKeys, PROVED, "contract");
    const { token, wallets } = await withNonce(await nonceOf(signIn));
    const [address = ""] = wallets;
    expect(await users.check(token)).toMatchObject({
      wallets: [address],
      owner: users.ownerOf(WALLET_ISSUER, `eip155:${address}`),
    });
    expect([asked, inherited]).toEqual([[], []]);
  });

  it("identifies a contract by its chain and address, which inherits what the address alone owned", async () => {
    const { users, asContract, inherited } = given(ringKeys, PROVED, "contract");
    const { address } = newAccount();
    const wallet = address.toLowerCase();
    const ownerOf = (subject: string) => users.ownerOf(WALLET_ISSUER, subject);
    const answers = [await asContract(address, 1), await asContract(address, 10)];
    expect(answers.map(({ wallets }) => wallets)).toEqual([[wallet], [wallet]]);
    for (const [index, chain] of [1, 10].entries()) {
      const id = `eip155:${chain}:${wallet}`;
      expect(await users.check(answers[index]!.token)).toMatchObject({ wallets: [id], owner: ownerOf(id) });
      expect(inherited[index]).toEqual([ownerOf(`eip155:${wallet}`), ownerOf(id), id]);
    }
  });

  it("lets the code of an account with a key inherit nothing (EIP-7702)", async () => {
    const { users, asContract, inherited } = given(ringKeys, PROVED, "delegate");
    const { address } = newAccount();
    const { token } = await asContract(address, 10);
    expect(await users.check(token)).toMatchObject({ wallets: [`eip155:10:${address.toLowerCase()}`] });
    expect(inherited).toEqual([]);
  });

  it("inherits nothing for a wallet that fails to prove itself, or that a user adds", async () => {
    const refused = given(ringKeys, PROVED, null);
    expect(await code(refused.asContract(newAccount().address, 10))).toBe("siwe_signature_wrong");
    expect(refused.inherited).toEqual([]);
    const { signIn, withNonce, asContract, inherited } = given(ringKeys, PROVED, "contract");
    const { token } = await withNonce(await nonceOf(signIn));
    await asContract(newAccount().address, 10, token);
    expect(inherited).toEqual([]);
  });

  it("adds wallets to a token, the newest last, and answers each address once", async () => {
    const { signIn, users, withNonce, asContract } = given(ringKeys, PROVED, "contract");
    const { token, wallets } = await withNonce(await nonceOf(signIn));
    const [account = ""] = wallets;
    const { address } = newAccount();
    const contract = address.toLowerCase();
    let last = await asContract(address, 10, token);
    last = await asContract(address, 1, last.token);
    last = await asContract(address, 10, last.token);
    expect(last.wallets).toEqual([account, contract]);
    expect(await users.check(last.token)).toMatchObject({
      wallets: [account, `eip155:1:${contract}`, `eip155:10:${contract}`],
      owner: users.ownerOf(WALLET_ISSUER, `eip155:${account}`),
    });
    expect((await signIn.refresh(last.token)).wallets).toEqual([account, contract]);
  });

  it("refuses tokens of earlier versions, which do not say whether a wallet is a contract", async () => {
    const { users, signIn, withNonce } = given(ringKeys, PROVED);
    const { token } = await withNonce(await nonceOf(signIn));
    const { version, ...claims } = decodeJwt(token);
    expect(version).toBe(2);
    const header = { alg: "HS256", typ: "JWT", kid: ring[0]!.id };
    const older = new SignJWT(claims).setProtectedHeader(header);
    const signed = await older.sign(ring[0]!.derive("colloquy wallet tokens hs256"));
    expect(await users.check(signed)).toMatchObject({ status: 401, code: "token_malformed" });
  });

  it("accepts tokens of an old master key until the key is removed", async () => {
    const { signIn, withNonce } = given();
    const { token } = await withNonce(await nonceOf(signIn));
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
