// A transaction moves money, so it is sent once, even if the page goes away or the service fails while the
// wallet's prompt is open.

import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { expectAnswer, expectGone, expectSeen, openConsole, say, sessionOf } from "./console-page.ts";
import { ChangingWallet, givePageWallet, type WalletAnswer, type WalletCall } from "./page-wallet.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const HASH = `0x${"b7".repeat(32)}`;
const DECLINED = { code: 4001, message: "User rejected the request." };
const isLeftOut = await isWithoutChromium();

/** A wallet that answers transactions with `send`. */
function wallet(send: () => unknown): WalletAnswer {
  return ({ method }) => {
    if (method === "eth_requestAccounts") return [ACCOUNT];
    return method === "eth_chainId" ? "0x1" : send();
  };
}

const sendings = (calls: readonly WalletCall[]) =>
  calls.filter(({ method }) => method === "eth_sendTransaction").length;

describe.skipIf(isLeftOut)("a transaction sent with the wallet", () => {
  const changing = new ChangingWallet();
  const kept = useSharedConsole((context) => changing.give(context));
  const card = (page: Page) => page.getByRole("group", { name: "The assistant asks" });
  const button = (page: Page, name: string) => card(page).getByRole("button", { name, exact: true });
  const wasAsked = (page: Page) => card(page).getByText("The wallet has already received this request");

  /** Opens a new conversation in which the assistant requests a transaction, in a page with this wallet. */
  async function asked(answer: WalletAnswer) {
    const calls = changing.change(answer);
    const watched = await kept.newChat();
    return { ...watched, calls, ...(await ask(watched.page)) };
  }

  /** Like `asked`, in a separate page. */
  async function askedInNewPage(prepare: (context: BrowserContext) => Promise<unknown> = async () => {}) {
    const { page, context } = await kept.openPage(kept.service.url);
    await prepare(context);
    await openConsole(page);
    return { page, ...(await ask(page)) };
  }

  async function ask(page: Page) {
    await say(page, "Please");
    const payment = { to: ACCOUNT, value_ether: "0.25" };
    (await kept.service.model.next()).callTool("wallet_request_transaction", payment).finish("tool-calls");
    await expectSeen(card(page));
    const id = await sessionOf(page);
    const [action] = (await kept.service.direct.getState(id)).pending_actions;
    return { id, actionId: action!.id };
  }

  /** Asks the wallet and waits until its prompt is open. */
  async function openPrompt(page: Page, calls: readonly WalletCall[], name = "Send with the wallet") {
    const before = sendings(calls);
    await button(page, name).click();
    await expect.poll(() => sendings(calls)).toBe(before + 1);
  }

  async function expectSent(page: Page) {
    (await kept.service.model.next()).say("Sent.").finish();
    await expectAnswer(page, /Sent\./);
    const records = await kept.service.direct.listMessages(await sessionOf(page));
    expect(records.at(-1)?.tool_results?.[0]).toMatchObject({ output: { transaction_hash: HASH } });
    // No entry is left behind.
    expect(await page.evaluate(() => Object.keys(localStorage).join())).not.toMatch(/asked|given/);
  }

  async function leaveAndComeBack(page: Page, id: string) {
    await page.getByRole("link", { name: "New chat" }).click();
    await expectGone(card(page));
    await page.goto(`/#/chat/${id}`);
    await expectSeen(card(page).getByText("Waiting for the wallet."));
  }

  it("continues in the card that mounts again while the prompt is open", async () => {
    const prompt = Promise.withResolvers<string>();
    const { page, calls, id } = await asked(wallet(() => prompt.promise));
    await openPrompt(page, calls);
    await leaveAndComeBack(page, id);
    expect(await button(page, "Send with the wallet").isDisabled()).toBe(true);
    expect(await button(page, "Deny").isDisabled()).toBe(true);
    prompt.resolve(HASH);
    await expectSent(page);
    expect(sendings(calls)).toBe(1);
  });

  it("can be rejected in an open prompt, which the new card reports", async () => {
    const prompt = Promise.withResolvers<object>();
    const { page, calls, id } = await asked(wallet(() => prompt.promise));
    await openPrompt(page, calls);
    await leaveAndComeBack(page, id);
    prompt.resolve(DECLINED);
    await expectSeen(card(page).getByRole("alert").getByText("You declined in the wallet."));
    await page.reload();
    await expectSeen(button(page, "Send with the wallet"));
    expect(await wasAsked(page).count()).toBe(0);
  });

  it("is not sent again after a reload or by another tab: the page asks for its hash instead", async () => {
    const { page, context, calls, id } = await asked(wallet(() => new Promise(() => undefined)));
    const other = await context.newPage();
    await openConsole(other, id);
    await expectSeen(button(other, "Send with the wallet"));
    await openPrompt(page, calls);
    await expectSeen(wasAsked(other));
    await page.reload();
    await expectSeen(wasAsked(page));
    for (const one of [page, other]) {
      expect(await button(one, "Send with the wallet").count()).toBe(0);
      expect(await button(one, "Deny").count()).toBe(0);
    }
    await card(page).getByRole("textbox", { name: "Hash of the transaction" }).fill(HASH);
    await button(page, "I have sent it").click();
    await expectSent(page);
    await expectGone(card(other));
    expect(sendings(calls)).toBe(1);
  });

  it("can be sent again on request; rejecting the repetition does not change the first outcome", async () => {
    const answers: unknown[] = [new Promise(() => undefined), DECLINED, HASH];
    const { page, calls } = await asked(wallet(() => answers.shift()));
    await openPrompt(page, calls);
    await page.reload();
    await openPrompt(page, calls, "Ask the wallet again");
    await expectSeen(card(page).getByRole("alert").getByText("You declined in the wallet."));
    await expectSeen(wasAsked(page));
    await openPrompt(page, calls, "Ask the wallet again");
    await expectSent(page);
  });

  it("has an unknown outcome when the wallet fails other than by rejection, and can be denied", async () => {
    const { page, calls } = await asked(wallet(() => ({ code: -32_603, message: "Lost the network." })));
    await openPrompt(page, calls);
    await expectSeen(card(page).getByRole("alert").getByText("Lost the network."));
    await expectSeen(wasAsked(page));
    await button(page, "It was not sent: deny").click();
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    expect(await page.evaluate(() => localStorage.length && JSON.stringify(localStorage))).not.toMatch(
      /colloquy\.asked/,
    );
  });

  it("is sent by one tab at a time, even before the wallet is asked", async () => {
    const account = Promise.withResolvers<readonly string[]>();
    const { page, context, calls, id } = await asked(({ method }) => {
      if (method === "eth_requestAccounts") return account.promise;
      return method === "eth_chainId" ? "0x1" : HASH;
    });
    const other = await context.newPage();
    await openConsole(other, id);
    await button(page, "Send with the wallet").click();
    await expect.poll(() => calls.length).toBe(1);
    await button(other, "Send with the wallet").click();
    await expectSeen(card(other).getByRole("alert").getByText("Another tab of this browser is asking"));
    account.resolve([ACCOUNT]);
    await expectSent(page);
    expect(sendings(calls)).toBe(1);
  });

  it("is sent even where tabs cannot coordinate", async () => {
    let calls: readonly WalletCall[] = [];
    const { page } = await askedInNewPage(async (context) => {
      calls = await givePageWallet(
        context,
        wallet(() => HASH),
      );
      await context.addInitScript(() => {
        const { locks } = navigator as unknown as { locks: { request: () => Promise<never> } };
        locks.request = () => Promise.reject(new Error("SecurityError"));
      });
    });
    await openPrompt(page, calls);
    await expectSent(page);
    expect(sendings(calls)).toBe(1);
  });

  it("is kept if the service rejects its hash, and can no longer be denied", async () => {
    const { page, calls, expectTrouble } = await asked(wallet(() => HASH));
    expectTrouble(/400/);
    await page.route("**/api/actions/*", (route) =>
      route.fulfill({
        status: 400,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "invalid_request", status: 400, detail: "No such hash." }),
      }),
    );
    await openPrompt(page, calls);
    await expectSeen(card(page).getByRole("alert").getByText("No such hash."));
    const told = card(page).getByText("will not be asked again");
    await expectSeen(told.getByText(HASH));
    await page.reload();
    await expectSeen(told.getByText(HASH));
    expect(await button(page, "Send with the wallet").count()).toBe(0);
    expect(await card(page).getByRole("button", { name: /deny/i }).count()).toBe(0);
    await page.unroute("**/api/actions/*");
    await button(page, "Report to the service").click();
    await expectSent(page);
    expect(sendings(calls)).toBe(1);
  });

  it("is reported to the service even if the wallet is gone", async () => {
    const { page, actionId } = await askedInNewPage();
    await page.evaluate(
      ([entry, value]) => localStorage.setItem(entry!, value!),
      [`colloquy.given.${actionId}`, JSON.stringify({ transaction_hash: HASH })],
    );
    await page.reload();
    await button(page, "Report to the service").click();
    await expectSent(page);
  });
});
