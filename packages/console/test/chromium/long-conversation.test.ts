// A conversation that is too long to render completely.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { composer, expectAnswer, expectGone, expectSeen, openConsole, said, say } from "./console-page.ts";
import { prepareConsole, serveConsole, type ConsoleService } from "./console-service.ts";

const ID = "3d0c9a52-6f1b-4e0e-9d55-7c1f0a64b8e1";
const TURNS = 60;
const PATIENCE = { timeout: 20_000 };
const isLeftOut = await isWithoutChromium();

let service: ConsoleService;

beforeAll(async () => {
  if (isLeftOut) return;
  await prepareConsole();
  service = await serveConsole();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const answered = service.direct.sendMessage(ID, `Question ${turn}.`, { wait: true });
    (await service.model.next()).say(`Answer ${turn}.`).finish();
    await answered;
  }
}, 120_000);
afterAll(async () => {
  if (!isLeftOut) await service.stop();
});

describe.skipIf(isLeftOut)("a long conversation", { timeout: 60_000 }, () => {
  const openPage = useChromium();

  async function open(): Promise<Page> {
    const { page } = await openPage(service.url);
    await openConsole(page, ID);
    await expectAnswer(page, `Answer ${TURNS - 1}.`);
    return page;
  }
  const articles = (page: Page) => page.getByRole("article");
  const earlier = (page: Page) => page.getByRole("button", { name: /^Show earlier messages/ });
  const topOf = async (page: Page, text: string): Promise<number> =>
    (await said(page).getByText(text, { exact: true }).boundingBox())!.y;
  const shown = async (page: Page, count: number): Promise<void> => {
    await expect.poll(() => articles(page).count(), PATIENCE).toBe(count);
  };

  it("starts with the newest messages, and keeps the reading position when earlier ones are inserted", async () => {
    const page = await open();
    await shown(page, 50);
    await earlier(page).scrollIntoViewIfNeeded();
    const before = await topOf(page, "Question 35.");
    await earlier(page).click();
    await shown(page, 100);
    await page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    expect(Math.abs((await topOf(page, "Question 35.")) - before)).toBeLessThan(2);
    await earlier(page).focus();
    await page.keyboard.press("Enter");
    await shown(page, 120);
    await expectGone(earlier(page));
    // The focus moves on to the messages.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")), PATIENCE)
      .toBe("Messages");
    await page.keyboard.press("Home");
    await expectSeen(said(page).getByText("Question 0.", { exact: true }));
  });

  it("removes the earlier messages when the reader returns to the newest", async () => {
    const page = await open();
    await earlier(page).click();
    await shown(page, 100);
    await earlier(page).click();
    await shown(page, 120);
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await shown(page, 50);
    await expectSeen(said(page).getByText(`Question ${TURNS - 1}.`, { exact: true }));
    await composer(page).waitFor();
    await say(page, "One more.");
    (await service.model.next()).say("Here it is.").finish();
    await expectAnswer(page, "Here it is.");
    await shown(page, 52);
  });
});
