// Actions that the assistant requests, and the effects of each decision.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import type { WatchedPage } from "../../../../test/browser/watched-page.ts";
import {
  answers,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  say,
  sessionOf,
} from "./console-page.ts";
import { ChangingWallet, givePageWallet, type WalletAnswer, type WalletCall } from "./page-wallet.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const OTHER_ACCOUNT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const SIGNATURE = `0x${"5a".repeat(65)}`;
const HASH = `0x${"b7".repeat(32)}`;
const TYPED_DATA = {
  domain: { name: "Tea", version: "1", chainId: 1 },
  primaryType: "Order",
  types: { Order: [{ name: "cups", type: "uint256" }] },
  message: { cups: "3" },
};
const PAYMENT = { to: ACCOUNT, value_ether: "0.25" };
const payingWallet: WalletAnswer = ({ method }) => {
  if (method === "eth_requestAccounts") return [ACCOUNT];
  return method === "eth_chainId" ? "0x1" : HASH;
};
/** The state that the page reads before it asks the wallet. Reads that look for lost events ask for no messages. */
const CHECK = /api\/state\?messages=last(?::|%3A)[1-9]/;
const isLeftOut = await isWithoutChromium();

describe.skipIf(isLeftOut)("a pending action in the console", () => {
  const wallet = new ChangingWallet();
  const kept = useSharedConsole((context) => wallet.give(context));
  const card = (page: Page) => page.getByRole("group", { name: "The assistant asks" });

  /** Opens a new conversation in which the assistant calls this tool, in a page with this wallet. */
  async function asked(
    tool: string,
    input: object,
    answer: WalletAnswer = () => null,
  ): Promise<{ page: Page; calls: readonly WalletCall[]; expectTrouble: WatchedPage["expectTrouble"] }> {
    const calls = wallet.change(answer);
    const { page, expectTrouble } = await kept.newChat();
    await ask(page, tool, input);
    return { page, calls, expectTrouble };
  }

  /** Like `asked`, in a page without a wallet. */
  async function askedWithoutWallet(tool: string, input: object): Promise<{ page: Page }> {
    const { page } = await kept.openPage(kept.service.url);
    await openConsole(page);
    await ask(page, tool, input);
    return { page };
  }

  async function ask(page: Page, tool: string, input: object): Promise<void> {
    await say(page, "Please");
    (await kept.service.model.next()).callTool(tool, input).finish("tool-calls");
    await expectSeen(card(page));
  }

  /** Reads the request to its end and signs with the wallet. */
  async function sign(page: Page): Promise<void> {
    const data = card(page).getByRole("group", { name: "Data to sign" }).locator("pre");
    await data.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await card(page).getByRole("button", { name: "Sign with the wallet" }).click();
  }

  /** Returns the stored outcome of the conversation's only call. */
  async function outcome(page: Page) {
    const records = await kept.service.direct.listMessages(await sessionOf(page));
    return records.at(-1)?.tool_results?.[0];
  }

  /** Expects these texts in the answer, also after a reload and in a copy of the conversation. */
  async function expectDecided(page: Page, ...texts: readonly (string | RegExp)[]): Promise<void> {
    const expectTexts = async (): Promise<void> => {
      for (const text of texts) await expectSeen(answers(page).getByText(text, { exact: true }));
    };
    await expectTexts();
    await page.reload();
    await expectTexts();
    const id = await sessionOf(page);
    await page.getByRole("button", { name: "Continue in a copy" }).click();
    await expect.poll(() => sessionOf(page)).not.toBe(id);
    await expectTexts();
  }

  it("can be approved, and then runs exactly as shown", async () => {
    const { page } = await asked("calculator", { expression: "12 * 7" });
    await expectSeen(card(page).getByText('"12 * 7"'));
    await expectSeen(
      page.getByRole("status", { name: "News" }).getByText("asks whether it may use calculator"),
    );
    await card(page).getByRole("button", { name: "Approve" }).click();
    (await kept.service.model.next()).say("It is 84.").finish();
    await expectAnswer(page, /It is 84\./);
    await expectGone(card(page));
    expect(await outcome(page)).toMatchObject({ is_error: false, output: { result: 84 } });
    await expectDecided(page, "Calculator", /^Approved by you, \d.*$/);
  });

  it("can be denied, and does not run", async () => {
    const { page } = await asked("calculator", { expression: "12 * 7" });
    await card(page).getByRole("button", { name: "Deny" }).click();
    const call = await kept.service.model.next();
    expect(call.prompt.at(-1)).toMatch(/denied|declined|not allowed/i);
    call.say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    expect(await outcome(page)).toMatchObject({ is_error: true });
    await expectDecided(page, "Calculator", /^Denied by you, \d.*$/);
  });

  it("survives a reload, and disappears when another tab decides it", async () => {
    const { page } = await asked("calculator", { expression: "1 + 1" });
    await page.reload();
    await expectSeen(card(page));
    const other = await page.context().newPage();
    await openConsole(other, await sessionOf(page));
    await card(other).getByRole("button", { name: "Approve" }).click();
    (await kept.service.model.next()).say("Two.").finish();
    await Promise.all([expectAnswer(page, /Two\./), expectGone(card(page)), expectGone(card(other))]);
  });

  it.each([
    [
      "one of the suggestions",
      async (page: Page) => card(page).getByRole("button", { name: "Green" }).click(),
      "Green",
    ],
    [
      "something else",
      async (page: Page) => {
        await card(page).getByRole("textbox", { name: "Your answer" }).fill("White");
        await page.keyboard.press("Enter");
      },
      "White",
    ],
  ])("can be a question, answered with %s", async (_name, answer, given) => {
    const { page } = await asked("ask_user", { question: "Which tea?", choices: ["Green", "Black"] });
    await expectSeen(card(page).getByRole("heading", { name: "Which tea?" }));
    await answer(page);
    (await kept.service.model.next()).say("As you like.").finish();
    await expectAnswer(page, /As you like\./);
    expect(JSON.stringify(await outcome(page))).toContain(given);
    await expectRest(page);
    await expectDecided(page, "Which tea?", /^Answered by you, \d.*$/, given);
  });

  it("can be a signature, given by the browser's wallet on the requested chain", async () => {
    let chain = "0x5";
    const { page, calls } = await asked(
      "wallet_request_signature",
      { typed_data: TYPED_DATA },
      ({ method, params }) => {
        if (method === "eth_requestAccounts") return [ACCOUNT];
        if (method === "eth_chainId") return chain;
        if (method === "wallet_switchEthereumChain") chain = JSON.stringify(params).match(/0x\w+/)?.[0] ?? "";
        return method === "eth_signTypedData_v4" ? SIGNATURE : null;
      },
    );
    await expectSeen(card(page).getByText('"cups": "3"'));
    await expectSeen(card(page).getByText("A signature can move money as a transaction can."));
    await expectSeen(card(page).getByText("The account selected in the wallet will sign."));
    await sign(page);
    (await kept.service.model.next()).say("Signed.").finish();
    await expectAnswer(page, /Signed\./);
    const signing = calls.find(({ method }) => method === "eth_signTypedData_v4");
    expect(signing?.params?.[0]).toBe(ACCOUNT);
    expect(JSON.parse(String(signing?.params?.[1]))).toMatchObject(TYPED_DATA);
    expect(calls.map(({ method }) => method)).toContain("wallet_switchEthereumChain");
    expect(await outcome(page)).toMatchObject({ is_error: false, output: { signature: SIGNATURE } });
  });

  it("can be a signature request without a wallet: the card explains that, and the person can deny it", async () => {
    const { page } = await askedWithoutWallet("wallet_request_signature", { typed_data: TYPED_DATA });
    await expectSeen(
      card(page).getByText("This browser has no wallet. Open this conversation where you have one."),
    );
    expect(await card(page).getByRole("button", { name: "Sign with the wallet" }).count()).toBe(0);
    await card(page).getByRole("button", { name: "Deny" }).click();
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    expect(await outcome(page)).toMatchObject({ is_error: true });
  });

  it("can be a signature that the person first rejects in the wallet and gives later", async () => {
    let isWilling = false;
    const { page } = await asked("wallet_request_signature", { typed_data: TYPED_DATA }, ({ method }) => {
      if (method === "eth_requestAccounts") return [ACCOUNT];
      if (method === "eth_chainId") return "0x1";
      return isWilling ? SIGNATURE : { code: 4001, message: "User rejected the request." };
    });
    await sign(page);
    await expectSeen(card(page).getByRole("alert").getByText("You declined in the wallet."));
    expect((await kept.service.direct.getState(await sessionOf(page))).pending_actions).toHaveLength(1);
    isWilling = true;
    await sign(page);
    (await kept.service.model.next()).say("Signed.").finish();
    await expectAnswer(page, /Signed\./);
  });

  it("can be a transaction, sent by the browser's wallet", async () => {
    const { page, calls } = await asked(
      "wallet_request_transaction",
      { to: ACCOUNT, value_ether: "0.25", data: "0x1234" },
      ({ method }) => {
        if (method === "eth_requestAccounts") return [ACCOUNT];
        return method === "eth_chainId" ? "0x1" : HASH;
      },
    );
    // All facts are shown before the wallet is asked.
    await expectSeen(card(page).getByText("Unknown call."));
    const facts = await card(page).locator("dl").innerText();
    expect(facts).toBe(
      `To\n${ACCOUNT}\nAmount\n0.25 ETH (250000000000000000 in the smallest unit)\nChain\n1`,
    );
    await expectSeen(card(page).getByRole("group", { name: "Data" }).getByText("0x1234"));
    await expectSeen(card(page).getByText("The account selected in the wallet will sign."));
    await expectSeen(card(page).getByText(/^Without a decision by .*\d.*, this counts as denied\.$/));
    await card(page).getByRole("button", { name: "Send with the wallet" }).click();
    (await kept.service.model.next()).say("Sent.").finish();
    await expectAnswer(page, /Sent\./);
    const sending = calls.find(({ method }) => method === "eth_sendTransaction");
    expect(sending?.params?.[0]).toMatchObject({
      from: ACCOUNT,
      to: ACCOUNT,
      value: "0x3782dace9d90000",
      data: "0x1234",
      chainId: "0x1",
    });
    expect(await outcome(page)).toMatchObject({ is_error: false, output: { transaction_hash: HASH } });
  });

  it("can be a transaction that is sent once although reporting it fails at first", async () => {
    const { page, calls, expectTrouble } = await asked("wallet_request_transaction", PAYMENT, payingWallet);
    expectTrouble(/429/);
    await page.route("**/api/actions/*", (route) =>
      route.fulfill({
        status: 429,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "rate_limited", status: 429, detail: "Too many requests." }),
      }),
    );
    await card(page).getByRole("button", { name: "Send with the wallet" }).click();
    const told = card(page).getByRole("alert");
    await expectSeen(told.getByText(HASH));
    await expectSeen(told.getByText("Too many requests."));
    await page.reload();
    await expectSeen(card(page).getByText(HASH));
    await page.unroute("**/api/actions/*");
    await card(page).getByRole("button", { name: "Report to the service" }).click();
    (await kept.service.model.next()).say("Sent.").finish();
    await expectAnswer(page, /Sent\./);
    expect(calls.filter(({ method }) => method === "eth_sendTransaction")).toHaveLength(1);
    expect(await outcome(page)).toMatchObject({ output: { transaction_hash: HASH } });
    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain(HASH);
  });

  it("can be a transaction that is not sent because it was decided elsewhere", async () => {
    const { page, calls } = await asked("wallet_request_transaction", PAYMENT, payingWallet);
    const id = await sessionOf(page);
    const [action] = (await kept.service.direct.getState(id)).pending_actions;
    // Decide elsewhere after the click and before the wallet is asked. Other requests check for lost events.
    let denied: Promise<unknown> | undefined;
    await page.route(CHECK, async (route) => {
      await (denied ??= kept.service.direct.decideAction(id, action!.id, { decision: "deny" }));
      await route.continue();
    });
    await card(page).getByRole("button", { name: "Send with the wallet" }).click();
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
    await expectGone(card(page));
    expect(calls).toEqual([]);
  });

  it("can be a transaction that was sent too late, whose hash is still shown", async () => {
    const late = Promise.withResolvers<void>();
    const { page, expectTrouble } = await asked("wallet_request_transaction", PAYMENT, async (call) => {
      if (call.method === "eth_sendTransaction") await late.promise;
      return payingWallet(call);
    });
    expectTrouble(/409/);
    const id = await sessionOf(page);
    const [action] = (await kept.service.direct.getState(id)).pending_actions;
    const asking = page.waitForResponse(CHECK);
    await card(page).getByRole("button", { name: "Send with the wallet" }).click();
    await asking;
    await kept.service.direct.decideAction(id, action!.id, { decision: "deny" });
    await expectGone(card(page));
    late.resolve();
    await expectSeen(page.getByRole("alert").getByText(`The wallet has done it (${HASH})`));
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
  });

  it("can be a transaction that was sent elsewhere, without a wallet in the browser", async () => {
    const { page } = await askedWithoutWallet("wallet_request_transaction", {
      to: ACCOUNT,
      value_ether: "0.25",
    });
    const hash = card(page).getByRole("textbox", { name: "Hash of the transaction" });
    await hash.fill(HASH.slice(0, -1));
    await card(page).getByRole("button", { name: "I have sent it" }).click();
    // An invalid hash stays in the input and is not sent.
    expect(
      await hash.evaluate((input) => (input as { matches(rule: string): boolean }).matches(":invalid")),
    ).toBe(true);
    expect((await kept.service.direct.getState(await sessionOf(page))).pending_actions).toHaveLength(1);
    await hash.fill(HASH);
    await card(page).getByRole("button", { name: "I have sent it" }).click();
    (await kept.service.model.next()).say("Sent.").finish();
    await expectAnswer(page, /Sent\./);
    expect(await outcome(page)).toMatchObject({ output: { transaction_hash: HASH } });
  });

  it("uses the connected wallet, whose conversations are listed", async () => {
    const { page, context } = await kept.openPage(kept.service.url);
    let accounts = [ACCOUNT];
    const calls = await givePageWallet(context, ({ method }) => {
      if (method === "eth_requestAccounts") return accounts;
      if (method === "eth_chainId") return "0x1";
      return method === "eth_sendTransaction" ? HASH : SIGNATURE;
    });
    const id = crypto.randomUUID();
    const sending = kept.service.direct.sendMessage(id, "Of my wallet", { publicKey: ACCOUNT, wait: true });
    (await kept.service.model.next()).say("Yes.").finish();
    await sending;
    await openConsole(page);
    await page.getByRole("button", { name: "Connect a wallet" }).click();
    await page
      .getByRole("dialog", { name: "Wallet" })
      .getByRole("button", { name: "Connect the browser" })
      .click();
    await page.getByRole("link", { name: "Of my wallet" }).click();
    await expectAnswer(page, /Yes\./);
    await page.getByRole("link", { name: "New chat" }).click();
    await say(page, "Also mine");
    (await kept.service.model.next()).say("Yes again.").finish();
    await expectAnswer(page, /Yes again\./);
    await say(page, "Pay");
    const payment = { to: ACCOUNT, value_ether: "0.25" };
    (await kept.service.model.next()).callTool("wallet_request_transaction", payment).finish("tool-calls");
    await expectSeen(
      card(page).getByText(`${ACCOUNT} will sign: the account that this page is connected to.`),
    );
    const { threads } = await kept.service.direct.listThreads(ACCOUNT);
    expect(threads.map(({ session_id }) => session_id)).toEqual([await sessionOf(page), id]);
    expect(await answers(page).count()).toBe(2);
    // The wallet's first account has changed; the page still shows the other one.
    accounts = [OTHER_ACCOUNT, ACCOUNT];
    await card(page).getByRole("button", { name: "Send with the wallet" }).click();
    const signature = { typed_data: TYPED_DATA };
    (await kept.service.model.next()).callTool("wallet_request_signature", signature).finish("tool-calls");
    await sign(page);
    (await kept.service.model.next()).say("Done.").finish();
    await expectAnswer(page, /Done\./);
    const paramsOf = (name: string) => calls.find(({ method }) => method === name)?.params?.[0];
    expect(paramsOf("eth_sendTransaction")).toMatchObject({ from: ACCOUNT });
    expect(paramsOf("eth_signTypedData_v4")).toBe(ACCOUNT);
  });
});
