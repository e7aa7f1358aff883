// A wallet signs in where the App asks for proof that the person holds it.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hex } from "viem";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { newAccount } from "../../../server/test/sign-in-messages.ts";
import { expectAnswer, expectSeen, openConsole, say, threads } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { givePageWallet, type WalletCall } from "./page-wallet.ts";

const isLeftOut = await isWithoutChromium();
const DAY_MS = 24 * 60 * 60_000;
const DECLINED = { code: 4001, message: "User rejected the request." };

describe.skipIf(isLeftOut)("the browser's wallet", () => {
  const open = useChromium();
  let proved: ConsoleService;
  let claimed: ConsoleService;
  beforeAll(async () => {
    await prepareConsole();
    proved = await serveConsole({ wallets: "proved" });
    claimed = await serveConsole();
  });
  afterAll(() => Promise.all([proved?.stop(), claimed?.stop()]));

  async function withWallet(service: ConsoleService, { declines = false, clockOffMs = 0 } = {}) {
    const account = newAccount();
    const watched = await open(service.url);
    if (clockOffMs !== 0) await watched.context.clock.setFixedTime(Date.now() + clockOffMs);
    const calls = await givePageWallet(watched.context, async ({ method, params = [] }: WalletCall) => {
      if (method === "eth_requestAccounts") return [account.address.toLowerCase()];
      if (method === "eth_chainId") return "0x1";
      return declines ? DECLINED : await account.signMessage({ message: { raw: params[0] as Hex } });
    });
    await openConsole(watched.page);
    return { ...watched, account, calls };
  }
  const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
  async function connect(page: Page): Promise<void> {
    await button(page, "Connect a wallet").click();
    await button(page, "Connect the browser’s wallet").click();
  }
  const signed = (calls: readonly WalletCall[]) =>
    calls.filter(({ method }) => method === "personal_sign").length;

  it("signs in once where the App requires proof, and then binds and lists conversations", async () => {
    const { page, account, calls, expectTrouble } = await withWallet(proved);
    expectTrouble(/40[34]/);
    await connect(page);
    const shown = button(page, /^Wallet 0x/);
    await expectSeen(shown);
    expect(signed(calls)).toBe(1);
    await say(page, "hello");
    (await proved.model.next()).say("Hello, wallet.").finish();
    await expectAnswer(page, "Hello, wallet.");
    const wallet = account.address.toLowerCase();
    await expect(proved.direct.listThreads(wallet)).rejects.toMatchObject({ code: "wallet_not_proved" });
    await page.reload();
    await expectAnswer(page, "Hello, wallet.");
    await expectSeen(threads(page).getByRole("link").first());
    expect(signed(calls)).toBe(1);
    // Disconnecting ends the sign-in.
    await shown.click();
    await button(page, "Disconnect").click();
    await expectSeen(button(page, "Connect a wallet"));
  });

  it.each([
    ["ahead", DAY_MS],
    ["behind", -DAY_MS],
  ])("signs in although the browser's clock is a day %s", async (_how, clockOffMs) => {
    const { page, calls, expectTrouble } = await withWallet(proved, { clockOffMs });
    expectTrouble(/40[34]/);
    await connect(page);
    await expectSeen(button(page, /^Wallet 0x/));
    expect(signed(calls)).toBe(1);
  });

  it("is connected without a signature where the App requires none", async () => {
    const { page, calls } = await withWallet(claimed);
    await connect(page);
    await expectSeen(button(page, /^Wallet 0x/));
    expect(signed(calls)).toBe(0);
  });

  it("stays unconnected if the user declines to sign", async () => {
    const { page, expectTrouble } = await withWallet(proved, { declines: true });
    expectTrouble(/403/);
    await connect(page);
    await expectSeen(page.getByText("You declined in the wallet. Nothing was sent or signed."));
  });
});
