// Editing a message, answering it again, and continuing in a copy.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import {
  answers,
  composer,
  expectAnswer,
  expectGone,
  expectRest,
  expectSeen,
  said,
  say,
  sessionOf,
  threads,
} from "./console-page.ts";
import { useSharedConsole } from "./use-shared-console.ts";

const editor = (page: Page) => page.getByRole("textbox", { name: "Edited message" });

describe.skipIf(await isWithoutChromium())("the console", () => {
  const kept = useSharedConsole();
  const { newChat } = kept;

  /** Sends a message and lets the model answer it. */
  async function talk(page: Page, text: string, answer: string): Promise<void> {
    await say(page, text);
    (await kept.service.model.next()).say(answer).finish();
    await expectAnswer(page, answer);
    await expectRest(page);
  }

  it("replaces an edited message and what follows it, also while the answer streams", async () => {
    const { page } = await newChat();
    await talk(page, "Hello", "Hi.");
    await say(page, "Count");
    const counting = await kept.service.model.next();
    counting.say("one ");
    await expectAnswer(page, /^one/);
    await said(page).first().hover();
    await said(page).first().getByRole("button", { name: "Edit message" }).click();
    expect(await editor(page).inputValue()).toBe("Hello");
    await expectSeen(page.getByText("Sending removes everything after this message."));
    expect(await findViolationsInBothSchemes(page)).toEqual([]);
    counting.say("two ");
    await expectAnswer(page, /^one two/);
    await editor(page).fill("Good morning");
    await editor(page).press("Enter");
    (await kept.service.model.next()).say("Good morning to you.").finish();
    await expectAnswer(page, "Good morning to you.");
    await expectRest(page);
    expect(counting.options.abortSignal?.aborted).toBe(true);
    expect(await answers(page).count()).toBe(1);
    expect(await said(page).getByRole("paragraph").allInnerTexts()).toEqual(["Good morning"]);
    await page.reload();
    await expectAnswer(page, "Good morning to you.");
    expect(await said(page).count()).toBe(1);
  });

  it("keeps a message unchanged when Escape cancels its edit, and restores the focus", async () => {
    const { page } = await newChat();
    await talk(page, "Hello", "Hi.");
    const pencil = said(page).getByRole("button", { name: "Edit message" });
    await pencil.focus();
    await page.keyboard.press("Enter");
    await editor(page).fill("Something else");
    await editor(page).press("Escape");
    await expectGone(editor(page));
    await expectSeen(said(page).getByText("Hello"));
    await expect.poll(() => pencil.evaluate((button) => button === document.activeElement)).toBe(true);
  });

  it("keeps a rejected edit in its form, with the reason", async () => {
    const { page, expectTrouble } = await newChat();
    expectTrouble(/status of 429/);
    await talk(page, "Hello", "Hi.");
    await page.route("**/api/chat*", (route) =>
      route.fulfill({
        status: 429,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "rate_limited", status: 429, detail: "Too many requests." }),
      }),
    );
    await said(page).hover();
    await said(page).getByRole("button", { name: "Edit message" }).click();
    await editor(page).fill("Good morning");
    await page.getByRole("button", { name: "Send", exact: true }).first().click();
    await expectSeen(page.getByText("Your message was not sent. Too many requests."));
    await expect.poll(() => editor(page).inputValue()).toBe("Good morning");
    expect(await composer(page).inputValue()).toBe("");
    await editor(page).press("Escape");
    await expectSeen(said(page).getByText("Hello"));
  });

  it("sends an edited text again in the same place after a reload", async () => {
    const { page } = await newChat();
    await talk(page, "Hello", "Hi.");
    const lost = Promise.withResolvers<void>();
    await page.route("**/api/chat*", () => lost.resolve(), { times: 1 });
    await said(page).hover();
    await said(page).getByRole("button", { name: "Edit message" }).click();
    await editor(page).fill("Good morning");
    await editor(page).press("Enter");
    await lost.promise;
    await page.reload();
    (await kept.service.model.next()).say("Good morning to you.").finish();
    await expectAnswer(page, "Good morning to you.");
    await expectRest(page);
    expect(await said(page).getByRole("paragraph").allInnerTexts()).toEqual(["Good morning"]);
  });

  it("regenerates the last answer", async () => {
    const { page } = await newChat();
    await talk(page, "Hello", "Hi.");
    await talk(page, "How are you?", "Fine.");
    expect(await page.getByRole("button", { name: "Answer again" }).count()).toBe(1);
    await page.getByRole("button", { name: "Answer again" }).click();
    (await kept.service.model.next()).say("Very well.").finish();
    await expectAnswer(page, "Very well.");
    await expectRest(page);
    expect(await said(page).count()).toBe(2);
    expect(await answers(page).count()).toBe(2);
  });

  it("copies the conversation up to an answer, and leaves the original unchanged", async () => {
    const { page } = await newChat();
    await talk(page, "Hello", "Hi.");
    await talk(page, "How are you?", "Fine.");
    const original = await sessionOf(page);
    const before = await threads(page).count();
    await answers(page).first().getByRole("button", { name: "Continue in a copy" }).click();
    await expect.poll(() => answers(page).count()).toBe(1);
    await expectAnswer(page, "Hi.");
    expect(await sessionOf(page)).not.toBe(original);
    expect(await threads(page).count()).toBe(before + 1);
    await talk(page, "And now?", "Something new.");
    await page.goto(`/#/chat/${original}`);
    await expectAnswer(page, "Fine.");
    expect(await said(page).count()).toBe(2);
  });

  it("reports why a conversation was not copied", async () => {
    const { page, expectTrouble } = await newChat();
    expectTrouble(/status of 409/);
    await talk(page, "Hello", "Hi.");
    await page.route("**/fork", (route) =>
      route.fulfill({
        status: 409,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "session_not_empty", status: 409, detail: "It is in use." }),
      }),
    );
    await page.getByRole("button", { name: "Continue in a copy" }).click();
    await expectSeen(page.getByText("The conversation was not copied. It is in use."));
  });
});
