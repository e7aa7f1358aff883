// Clients of users who have signed in with a wallet, against the service.

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { newAccount, SignIns } from "../../server/test/sign-in-messages.ts";
import { createClient, walletToken, type WalletToken } from "../src/index.ts";

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
