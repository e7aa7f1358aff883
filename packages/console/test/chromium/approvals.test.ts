// People approve exactly what they have seen: nothing is hidden, reordered or omitted, and all of it was in
// view.

import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { cannedContract } from "../../../engine/src/tools/wallet/testing/canned-contract.ts";
import {
  isWithoutChain,
  localChainId,
  startLocalChain,
  type LocalChain,
} from "../../../server/test/local-chain.ts";
import { expectAnswer, expectGone, expectSeen, openConsole, say } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";
import { givePageWallet } from "./page-wallet.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const ACCOUNT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SIGNATURE = `0x${"5a".repeat(65)}`;
const LINES = Array.from({ length: 300 }, (_, line) => `Line ${line}`);
const BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
/** Selector of `decimals()`. */
const DECIMALS = "0x313ce567";
/** Returns a 32-byte word of call data from hexadecimal digits. */
const word = (digits: string): string => digits.padStart(64, "0");
/** One of each kind of character that is invisible or reorders text. */
const HIDDEN = [
  "\u202E",
  "\u2066",
  "\u200B",
  "\u200F",
  "\u00AD",
  "\u0007",
  "\u00A0",
  "\u{E0041}",
  "\uFE0F",
  "\u2028",
];
const isLeftOut = await isWithoutChromium();

describe.skipIf(isLeftOut)("an approval in the console", () => {
  const kept = useSharedConsole();
  const card = (page: Page): Locator => page.getByRole("group", { name: "The assistant asks" });
  const approve = (page: Page): Locator => card(page).getByRole("button", { name: "Approve" });
  const input = (page: Page): Locator =>
    card(page).getByRole("group", { name: "With this input" }).locator("pre");
  const readOn = (page: Page): Locator => card(page).getByRole("button", { name: "Continue reading" });

  /** Makes the assistant call this tool in the page's conversation. */
  async function ask(page: Page, tool: string, given: object): Promise<void> {
    await openConsole(page);
    await say(page, "Please");
    (await kept.service.model.next()).callTool(tool, given).finish("tool-calls");
    await expectSeen(card(page));
  }

  /** Requests approval of a call with `value`, in a page of this size. */
  async function asked(value: unknown, viewport = DESK): Promise<Page> {
    const { page } = await kept.openPage(kept.service.url, { viewport });
    await ask(page, "echo", { value: { asked: value } });
    return page;
  }

  async function expectApproved(page: Page): Promise<void> {
    await approve(page).click();
    (await kept.service.model.next()).say("It is done.").finish();
    await expectAnswer(page, /It is done\./);
    await expectGone(card(page));
  }

  it("shows every hidden character of the input as an escape, from left to right", async () => {
    const value = { to: `a${HIDDEN.join("b")}c`, [`key${HIDDEN.join("")}`]: 1 };
    const page = await asked(value);
    const text = (await input(page).textContent()) ?? "";
    for (const character of HIDDEN) expect(text).not.toContain(character);
    expect(text).toContain("a\\u202eb\\u2066b\\u200b");
    expect(JSON.parse(text)).toEqual({ value: { asked: value } });
    expect(await input(page).getAttribute("dir")).toBe("ltr");
    await expectApproved(page);
  });

  it("isolates right-to-left text from its surroundings", async () => {
    const page = await asked({ אבג: "דהו", amount: 5 });
    const isolated = await input(page).locator("bdi").allTextContents();
    expect(isolated).toEqual(expect.arrayContaining(['"אבג"', '"דהו"']));
    expect(
      await input(page)
        .locator("bdi")
        .first()
        .evaluate((one) => getComputedStyle(one).unicodeBidi),
    ).toBe("isolate");
  });

  it.each([
    ["at a desk", DESK],
    ["on a phone", PHONE],
  ])("can be given after scrolling through the whole input, %s", async (_where, viewport) => {
    const page = await asked(LINES, viewport);
    await expectSeen(card(page).getByText("Read to the end to approve."));
    expect(await approve(page).isDisabled()).toBe(true);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await input(page).evaluate((box) => box.scrollTo(0, box.scrollHeight - box.clientHeight - 40));
    // After one frame the page has noticed what is in view.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    expect(await approve(page).isDisabled()).toBe(true);
    await input(page).evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await expectSeen(card(page).getByText("You have reached the end."));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await expectApproved(page);
  });

  it("can be given with the keyboard, which scrolls the focused input", async () => {
    const page = await asked(LINES);
    await input(page).focus();
    await page.keyboard.press("PageDown");
    expect(await approve(page).isDisabled()).toBe(true);
    await page.keyboard.press("End");
    await expectSeen(card(page).getByText("You have reached the end."));
    await expectApproved(page);
  });

  it("can be given with one button, which pages through the input and then leaves the focus on it", async () => {
    const page = await asked(LINES.slice(0, 60));
    expect(await approve(page).isDisabled()).toBe(true);
    await readOn(page).focus();
    while (
      (await readOn(page).count()) > 0 &&
      (await input(page).evaluate((box) => box !== document.activeElement))
    )
      await page.keyboard.press("Enter");
    await expectGone(readOn(page));
    expect(await input(page).evaluate((box) => box === document.activeElement)).toBe(true);
    await expectApproved(page);
  });

  it("shows all of 60,000 characters within its box", async () => {
    const value = ["x".repeat(30_000), `a${" ".repeat(20_000)}b`, `${"y z".repeat(3_000)}the end`];
    const page = await asked(value, PHONE);
    expect(JSON.parse((await input(page).textContent()) ?? "")).toEqual({ value: { asked: value } });
    const [width, room, lines] = await input(page).evaluate((box) => [
      box.scrollWidth,
      box.clientWidth,
      box.scrollHeight / parseFloat(getComputedStyle(box).lineHeight),
    ]);
    expect(width).toBeLessThanOrEqual(room);
    // Spaces are as wide as letters, so a hundred characters per line make this many lines.
    expect(lines).toBeGreaterThan(600);
    expect(await approve(page).isDisabled()).toBe(true);
  });

  it("asks the wallet only after the whole request was visible", async () => {
    const { page, context } = await kept.openPage(kept.service.url, { viewport: DESK });
    const calls = await givePageWallet(context, ({ method }) => {
      if (method === "eth_requestAccounts") return [ACCOUNT];
      return method === "eth_chainId" ? "0x1" : SIGNATURE;
    });
    const note = `${LINES.join("\n")}\u202E`;
    await ask(page, "wallet_request_signature", {
      typed_data: {
        domain: { name: "Tea", chainId: 1 },
        primaryType: "Order",
        types: { Order: [{ name: "note", type: "string" }] },
        message: { note },
      },
    });
    const sign = card(page).getByRole("button", { name: "Sign with the wallet" });
    const data = card(page).getByRole("group", { name: "Data to sign" }).locator("pre");
    expect(await sign.isDisabled()).toBe(true);
    expect(await data.textContent()).toContain("Line 299\\u202e");
    await data.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await sign.click();
    (await kept.service.model.next())
      .callTool("wallet_request_transaction", { to: ACCOUNT, data: `0x${"12".repeat(8_000)}` })
      .finish("tool-calls");
    expect(calls.map(({ method }) => method)).toContain("eth_signTypedData_v4");
    const send = card(page).getByRole("button", { name: "Send with the wallet" });
    await expectSeen(send);
    expect(await send.isDisabled()).toBe(true);
    await card(page)
      .getByRole("group", { name: "Data" })
      .locator("pre")
      .evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await expect.poll(() => send.isEnabled()).toBe(true);
    await card(page).getByRole("button", { name: "Deny" }).click();
    (await kept.service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
  });
});

describe.skipIf(isLeftOut || isWithoutChain)("the decoded call of a transaction in the console", () => {
  const openPage = useChromium();
  let chain: LocalChain;
  let service: ConsoleService;
  let usdc: string;
  beforeAll(async () => {
    await prepareConsole();
    chain = await startLocalChain();
    usdc = await chain.deploy(cannedContract([{ call: DECIMALS, returns: `0x${word("6")}` }]));
    service = await serveConsole({ chains: [chain.settings] });
  });
  afterAll(async () => {
    await service?.stop();
    await chain?.close();
  });

  const transfer = `0xa9059cbb${word(BOB.slice(2).toLowerCase())}${word((25_000_000).toString(16))}`;

  it.each([
    ["at a desk", DESK],
    ["on a phone", PHONE],
  ])("is shown beside its data, and marks decimals as the token's claim: %s", async (_where, viewport) => {
    const { page } = await openPage(service.url, { viewport });
    await openConsole(page);
    await say(page, "Please");
    const request = { to: usdc, data: transfer, value_ether: "0.5", chain_id: localChainId };
    (await service.model.next()).callTool("wallet_request_transaction", request).finish("tool-calls");
    const card = page.getByRole("group", { name: "The assistant asks" });
    await expectSeen(card.getByText("0.5 ETH (500000000000000000 in the smallest unit)"));
    const call = card.getByRole("group", { name: "The call" });
    await expectSeen(call.getByText("The data reads as transfer(address to, uint256 amount)"));
    expect((await call.locator("dl").innerText()).split("\n")).toEqual([
      "to",
      BOB,
      "amount",
      "25000000 in the smallest unit: 25 by the 6 decimals that the token claims",
    ]);
    expect(await card.getByRole("group", { name: "Data" }).locator("pre").textContent()).toBe(transfer);
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    await card.getByRole("button", { name: "Deny" }).click();
    (await service.model.next())
      .callTool("wallet_request_transaction", { ...request, data: `${transfer}00` })
      .finish("tool-calls");
    await expectSeen(card.getByText("Unknown call."));
    expect(await call.count()).toBe(0);
    await card.getByRole("button", { name: "Deny" }).click();
    (await service.model.next()).say("Then not.").finish();
    await expectAnswer(page, /Then not\./);
  });
});
