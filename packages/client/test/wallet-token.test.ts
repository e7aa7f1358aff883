// Clients of users who have signed in with a wallet, against the service.

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { addressOfWallet, newAccount, SignIns } from "../../server/test/sign-in-messages.ts";
import { createClient, walletToken, type SignedIn, type WalletToken } from "../src/index.ts";

const MINUTE = 60_000;

let program: Program;
let wallets: SignIns;
beforeAll(async () => {
  program = await Program.start(
    { apps: { default: { wallets: "proved" } } },
    { COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64") },
  );
  wallets = new SignIns(program.url);
});
afterAll(() => program.remove());
afterEach(() => vi.useRealTimers());

const signIn = async (): Promise<WalletToken> => (await wallets.signIn(newAccount())).json() as WalletToken;
/** Moves the client's clock; the service has its own. */
const passes = (ms: number): void => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });

it("sends the token of the wallet, and the next one shortly before it ends", async () => {
  const signedIn = await signIn();
  const options = { baseUrl: program.url };
  const next: WalletToken[] = [];
  const token = walletToken(signedIn, options, (fresh) => next.push(fresh));
  const client = createClient({ ...options, token });
  const [wallet = ""] = signedIn.wallets;
  expect((await client.listThreads(wallet)).threads).toEqual([]);
  expect(await token()).toBe(signedIn.token);
  passes(14.5 * MINUTE);
  // Requests at the same time share one refresh.
  await Promise.all([client.listThreads(wallet), client.listThreads(wallet)]);
  expect(next).toHaveLength(1);
  expect(next[0]?.wallets).toEqual([wallet]);
  expect(await createClient({ ...options, token: () => next[0]!.token }).listThreads(wallet)).toBeDefined();
});

it("keeps the current token while the service is unreachable, until the token expires", async () => {
  const signedIn = await signIn();
  const token = walletToken(signedIn, { baseUrl: "http://127.0.0.1:9", retries: 0 });
  passes(14.5 * MINUTE);
  expect(await token()).toBe(signedIn.token);
  passes(MINUTE);
  await expect(token()).rejects.toMatchObject({ code: "network_failed" });
});

describe.each([
  ["a day ahead", 24 * 60 * MINUTE],
  ["a day behind", -24 * 60 * MINUTE],
])("a browser whose clock is %s", (_how, off) => {
  /** Signs in and counts the requests that refresh the token. */
  async function signedInClient(keep: (signedIn: SignedIn) => WalletToken) {
    let refreshes = 0;
    const counted: typeof fetch = async (input, init) => {
      if (new URL(input as string).pathname.endsWith("/refresh")) refreshes += 1;
      return await fetch(input, init);
    };
    const options = { baseUrl: program.url, fetch: counted };
    const account = newAccount();
    const message = await wallets.message(account);
    const signature = await account.signMessage({ message });
    passes(off);
    const signedIn = await createClient(options).verifySignIn({ message, signature });
    const token = walletToken(keep(signedIn), options);
    return {
      token,
      list: () => createClient({ ...options, token }).listThreads(signedIn.wallets[0]),
      refreshes: () => refreshes,
    };
  }

  it("signs in, because the message carries the service's time", async () => {
    passes(off);
    const anonymous = createClient({ baseUrl: program.url });
    const account = newAccount();
    const message = await wallets.message(account, await anonymous.createSignInNonce());
    const signature = await account.signMessage({ message });
    expect((await anonymous.verifySignIn({ message, signature })).wallets).toEqual([
      addressOfWallet(account),
    ]);
  });

  it("refreshes the token shortly before its end only", async () => {
    const { list, refreshes } = await signedInClient((signedIn) => signedIn);
    for (let request = 1; request <= 3; request += 1) await list();
    expect(refreshes()).toBe(0);
    passes(14.5 * MINUTE);
    await list();
    await list();
    expect(refreshes()).toBe(1);
  });

  it("refreshes a token once that another program has received", async () => {
    const { list, refreshes } = await signedInClient(({ received_at: _, ...token }) => token);
    for (let request = 1; request <= 3; request += 1) await list();
    expect(refreshes()).toBe(1);
  });

  it("refreshes once when the clock is corrected", async () => {
    const { list, refreshes } = await signedInClient((signedIn) => signedIn);
    await list();
    passes(-off);
    for (let request = 1; request <= 3; request += 1) await list();
    expect(refreshes()).toBe(1);
  });
});
