// What a person has written is theirs until the service has it, wherever they go meanwhile.

import type { Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import {
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  openConsole,
  said,
  say,
  sessionOf,
} from "./console-page.ts";
import { useConsoleService } from "./use-console-service.ts";

const isLeftOut = await isWithoutChromium();

const service = useConsoleService();

/** Holds what is sent from now on, until it is refused. */
async function holdSending(page: Page): Promise<{ readonly held: Promise<void>; refuse(): void }> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/api/chat*", async (route: Route) => {
    held.resolve();
    await released.promise;
    await route.fulfill({
      status: 429,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "rate_limited", status: 429, detail: "Too many requests." }),
    });
  });
  return { held: held.promise, refuse: released.resolve };
}

/** Waits until the composer has this text. */
async function expectWritten(page: Page, text: string): Promise<void> {
  await expect.poll(() => composer(page).inputValue()).toBe(text);
}

describe.skipIf(isLeftOut)("a message that was not sent", { timeout: 60_000 }, () => {
  const openPage = useChromium();

  it("is told of in the place where its writer has gone, and stands in its conversation", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "A long message that I wrote");
    await sending.held;
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    sending.refuse();
    const told = page.getByRole("alert").filter({ hasText: "Your message was not sent. Too many requests." });
    await expectSeen(told);
    await expectWritten(page, "");
    await told.getByRole("button", { name: "Go there" }).click();
    await expectAnswer(page, /^One\./);
    await expectWritten(page, "A long message that I wrote");
    await expectSeen(told);
    await page.unroute("**/api/chat*");
    await composer(page).press("Enter");
    (await service.model.next()).say("Two.").finish();
    await expectAnswer(page, /^Two\./);
    await expectWritten(page, "");
  });

  it("is there when the page was loaded again while it was on its way", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "A long message that I wrote");
    await sending.held;
    await page.reload();
    await expectWritten(page, "A long message that I wrote");
  });

  it("is shown as being sent to who comes back to its conversation", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "Slowly");
    await sending.held;
    await page.getByRole("link", { name: "New chat" }).click();
    await expectSeen(page.getByRole("heading", { name: "What is on your mind?" }));
    await page.goBack();
    await expectSeen(said(page).filter({ hasText: "Slowly" }).getByText("Sending…"));
    await expectWritten(page, "");
    sending.refuse();
    await expectSeen(page.getByRole("alert").getByText("Your message was not sent."));
    await expectWritten(page, "Slowly");
    await expectGone(said(page).filter({ hasText: "Slowly" }));
  });

  it("as the first of a conversation stands in the next new chat, before what is written there", async () => {
    const { page, expectTrouble } = await openPage(service.url);
    expectTrouble(/429/);
    await openConsole(page);
    const sending = await holdSending(page);
    await say(page, "A");
    await sending.held;
    await page.getByRole("link", { name: "Operate" }).click();
    await expectSeen(page.getByLabel("Admin key"));
    await page.getByRole("link", { name: "New chat" }).click();
    await composer(page).fill("B");
    sending.refuse();
    await expectSeen(page.getByRole("alert").getByText("Your message was not sent. Too many requests."));
    await expectWritten(page, "A\n\nB");
    await page.reload();
    await expectWritten(page, "A\n\nB");
  });

  it("is given back though another one that is being written has its words in it", async () => {
    const page = await openTalk();
    const sending = await holdSending(page);
    await say(page, "tea");
    await sending.held;
    await composer(page).fill("I like steak");
    sending.refuse();
    await expectWritten(page, "tea\n\nI like steak");
  });

  /** A page at a conversation that has begun, where a refusal is meant to happen. */
  async function openTalk(): Promise<Page> {
    const { page, expectTrouble } = await openPage(service.url);
    expectTrouble(/429/);
    await openConsole(page);
    await say(page, "First");
    (await service.model.next()).say("One.").finish();
    await expectAnswer(page, /^One\./);
    await expectRest(page);
    await sessionOf(page);
    return page;
  }
});
